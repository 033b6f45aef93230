// The part of libchdb's C interface that we call, declared by us so that no header of the engine is
// needed to build. Names and meaning are the library's; tested with 26.7.
//
// Only embedded_transport.cc may include this.
#pragma once

#include <cstddef>

namespace wherefore::store::chdb {

struct ConnectionBody;
using Connection = ConnectionBody*;
struct Result;
struct InsertBody;
using InsertStream = InsertBody*;

// Entry points, found by name in the loaded library.
struct Api {
  Connection* (*connect)(int argc, char** argv);
  void (*close_conn)(Connection* connection);
  Result* (*query_n)(Connection connection, const char* sql, std::size_t sql_size,
                     const char* format, std::size_t format_size);
  char* (*result_buffer)(Result* result);
  std::size_t (*result_length)(Result* result);
  const char* (*result_error)(Result* result);  // null: no error
  void (*destroy_query_result)(Result* result);

  // Never null, even on failure: ask stream_insert_error. The statement has no FORMAT clause.
  InsertStream (*stream_insert_n)(Connection connection, const char* sql, std::size_t sql_size,
                                  const char* format, std::size_t format_size);
  int (*stream_append)(InsertStream stream, const void* bytes, std::size_t size);  // 0 is success
  Result* (*stream_done)(InsertStream stream);
  void (*stream_cancel_insert)(InsertStream stream);
  const char* (*stream_insert_error)(InsertStream stream);
  void (*destroy_insert_stream)(InsertStream stream);

  void (*set_signal_handlers_enabled)(int enabled);  // before the first connect
};

}  // namespace wherefore::store::chdb
