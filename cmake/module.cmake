# wherefore_module(<name> SRCS ... DEPS ... [LIBS ...] [TESTS ...] [TEST_LIBS ...] [BENCH ...] [FUZZ ...])
#
# One folder of src/ = one static library wherefore_<name>. DEPS are other modules (tools/layers.txt
# says which are allowed), LIBS are libraries from outside. All TESTS of a module link into one
# executable <name>_test, because linking costs more than running. A FUZZ target is a libFuzzer
# program under the fuzz preset and replays its corpus in plain ctest otherwise: fuzz/corpus/<name>,
# or one file of every format where it has none of its own.
function(wherefore_module name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS;LIBS;TESTS;TEST_LIBS;BENCH;FUZZ" ${ARGN})
  set(lib wherefore_${name})
  add_library(${lib} STATIC ${A_SRCS})
  target_include_directories(${lib} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM A_DEPS PREPEND wherefore_)
  target_link_libraries(${lib} PUBLIC ${A_DEPS} ${A_LIBS} wherefore_flags)
  if(NOT WHEREFORE_FUZZ)
    target_precompile_headers(${lib} REUSE_FROM wherefore_pch)
  endif()

  if(A_TESTS AND NOT WHEREFORE_FUZZ)
    add_executable(${name}_test ${A_TESTS})
    target_link_libraries(${name}_test PRIVATE ${lib} ${A_TEST_LIBS} GTest::gtest GTest::gtest_main)
    target_precompile_headers(${name}_test REUSE_FROM wherefore_pch)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 120 ENVIRONMENT "WHEREFORE_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  endif()

  if(A_BENCH AND WHEREFORE_BENCH AND NOT WHEREFORE_FUZZ)
    add_executable(${name}_bench ${A_BENCH})
    target_link_libraries(${name}_bench PRIVATE ${lib} ${A_TEST_LIBS} benchmark::benchmark_main)
  endif()

  foreach(source IN LISTS A_FUZZ)
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" corpus ${target})
    set(corpus ${PROJECT_SOURCE_DIR}/fuzz/corpus/${corpus})
    if(NOT EXISTS ${corpus})
      set(corpus ${PROJECT_SOURCE_DIR}/tests/golden/formats)
    endif()
    if(WHEREFORE_FUZZ)
      add_executable(${target} ${source})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${target} ${source} ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc)
      add_test(NAME fuzz.${target} COMMAND ${target} ${corpus})
      set_tests_properties(fuzz.${target} PROPERTIES TIMEOUT 120)
    endif()
    target_link_libraries(${target} PRIVATE ${lib})
  endforeach()
endfunction()
