# libwherefore.so, libwherefore.a and libwherefore_nohooks.a: the module's objects and the parts of ours they need, nothing
# of anybody else's beside libc. Read by CMakeLists.txt of this folder.
find_library(ZLIB_STATIC NAMES libz.a REQUIRED)
find_library(XXHASH_STATIC NAMES libxxhash.a REQUIRED)
find_library(LZMA_STATIC NAMES liblzma.a REQUIRED)  # minidebuginfo

# fmt without its shared library; the flags of the others, but not their link.
add_library(wherefore_fmt OBJECT platform/fmt_static.cc)
target_include_directories(wherefore_fmt PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_options(wherefore_fmt PRIVATE -fPIC -O2)

set(own_objects $<TARGET_OBJECTS:wherefore_sdk> $<TARGET_OBJECTS:wherefore_sdk_signal>
                $<TARGET_OBJECTS:wherefore_sdk_hooks> $<TARGET_OBJECTS:wherefore_fmt>)
set(own_archives $<TARGET_FILE:wherefore_formats> $<TARGET_FILE:wherefore_profile> $<TARGET_FILE:wherefore_elf>
                 $<TARGET_FILE:wherefore_base> ${ZLIB_STATIC} ${XXHASH_STATIC} ${LZMA_STATIC})
set(own_targets wherefore_sdk wherefore_sdk_signal wherefore_sdk_hooks wherefore_fmt
                wherefore_formats wherefore_profile wherefore_elf wherefore_base)

# The list of names in the forms the two tools want.
set(symbols ${CMAKE_CURRENT_SOURCE_DIR}/exported_symbols.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${symbols})
file(STRINGS ${symbols} names REGEX "^[^#]")
list(JOIN names "; " joined)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exported.map CONTENT "{ global: ${joined}; local: *; };\n")
list(JOIN names "\n" joined)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exported.txt CONTENT "${joined}\n")

# operator new and delete of our own code are not the host's (platform/own_new.cc).
set(own_new _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
            _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
            _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t)
list(TRANSFORM own_new PREPEND -Wl,--wrap=)

add_library(wherefore_shared SHARED ${own_objects} platform/own_new.cc)
target_link_libraries(wherefore_shared PRIVATE wherefore_flags)
target_include_directories(wherefore_shared PRIVATE ${PROJECT_SOURCE_DIR}/src)
add_dependencies(wherefore_shared ${own_targets})
set_target_properties(wherefore_shared PROPERTIES OUTPUT_NAME wherefore LINKER_LANGUAGE CXX
  SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
  LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/exported.map)
target_link_libraries(wherefore_shared PRIVATE -Wl,--start-group ${own_archives} -Wl,--end-group
                                               ${CMAKE_DL_LIBS} Threads::Threads)
# -z now: no symbol is looked up for the first time inside a signal handler.
target_link_options(wherefore_shared PRIVATE ${own_new} -static-libstdc++ -static-libgcc -Wl,-z,now -Wl,-z,defs
  -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/exported.map)

# Inside this project it has the name the package gives it outside.
target_include_directories(wherefore_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
add_library(Wherefore::wherefore ALIAS wherefore_shared)

# One object with only the same names visible, so that our copies of fmt, zlib and the rest cannot
# meet the host's. Names that are one in the whole process (templates' variables) are made weak first:
# only then can they be hidden, and they would meet those of a static C++ library.
function(wherefore_archive name)
  set(merged ${CMAKE_CURRENT_BINARY_DIR}/${name}_merged.o)
  set(archive ${CMAKE_BINARY_DIR}/lib${name}.a)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${merged} ${ARGN}
            --start-group ${own_archives} --end-group
    COMMAND sh -c "${CMAKE_NM} -g --defined-only ${merged} | sed -n 's/.* u //p' > ${merged}.unique"
    COMMAND ${CMAKE_OBJCOPY} --weaken-symbols=${merged}.unique ${merged}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbols=${CMAKE_CURRENT_BINARY_DIR}/exported.txt ${merged}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} rcs ${archive} ${merged}
    DEPENDS ${own_targets} ${ARGN} ${CMAKE_CURRENT_BINARY_DIR}/exported.txt
    COMMENT "Building lib${name}.a" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()
wherefore_archive(wherefore ${own_objects})
# For programs without a dynamic linker, where no function can stand in front of libc's: no hooks.
add_library(wherefore_sdk_nohooks OBJECT context/thread_symbol.cc)
target_compile_definitions(wherefore_sdk_nohooks PRIVATE WHEREFORE_NO_HOOKS)
target_link_libraries(wherefore_sdk_nohooks PRIVATE wherefore_sdk)
set_target_properties(wherefore_sdk_nohooks PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
list(REMOVE_ITEM own_objects $<TARGET_OBJECTS:wherefore_sdk> $<TARGET_OBJECTS:wherefore_sdk_hooks>)
wherefore_archive(wherefore_nohooks ${own_objects} $<TARGET_OBJECTS:wherefore_sdk_nohooks>
                  $<FILTER:$<TARGET_OBJECTS:wherefore_sdk>,EXCLUDE,thread_symbol>)
add_custom_target(wherefore_static ALL
  DEPENDS ${CMAKE_BINARY_DIR}/libwherefore.a ${CMAKE_BINARY_DIR}/libwherefore_nohooks.a)

# What a project outside needs: find_package(Wherefore), pkg-config wherefore.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(packaging ${PROJECT_SOURCE_DIR}/packaging/sdk)
configure_package_config_file(${packaging}/WhereforeConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/WhereforeConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Wherefore PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/WhereforeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# From the folder of the pkg-config files up to the prefix, so that the tree may be moved.
file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_up}")
function(wherefore_pkg_config pc_name pc_description pc_libs)
  configure_file(${packaging}/wherefore.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT sdk)
endfunction()
# Every name by itself: pkg-config would put a backslash before the * of a pattern.
file(READ ${PROJECT_SOURCE_DIR}/include/wherefore/wherefore.h header)
string(REGEX MATCHALL "wherefore_[a-z0-9_]+\\(" shown "${header}")
list(TRANSFORM shown REPLACE "^(.*)\\($" ",--export-dynamic-symbol=\\1")
list(REMOVE_DUPLICATES shown)
list(JOIN shown "" shown)
set(static_needs "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1${shown} -lstdc++ -lm -ldl -pthread")
wherefore_pkg_config(wherefore "In-process profiler that speaks OpenTelemetry" -lwherefore)
wherefore_pkg_config(wherefore-static "The same as a static library inside the program" "-l:libwherefore.a ${static_needs}")
wherefore_pkg_config(wherefore-nohooks "The same for programs linked with -static" "-l:libwherefore_nohooks.a ${static_needs}")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wherefore DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(TARGETS wherefore_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
install(FILES ${CMAKE_BINARY_DIR}/libwherefore.a ${CMAKE_BINARY_DIR}/libwherefore_nohooks.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/WhereforeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/WhereforeConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Wherefore COMPONENT sdk)
