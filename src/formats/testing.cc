#include "formats/testing.h"

#include <map>
#include <vector>

namespace wherefore::formats::testing {

std::string Random::Bytes(int size) {
  std::string out;
  for (int i = 0; i < size; ++i) out += static_cast<char>(Below(256));
  return out;
}

std::string Random::Text() {
  static constexpr std::string_view kPieces[] = {
      "a", "main", "::run<int>", "é", "漢", " ", "\"", "\\", "/usr/lib", ".so", "\n", "x86", "😀"};
  std::string out;
  for (int i = Below(5); i >= 0; --i) out += kPieces[Below(std::size(kPieces))];
  return out;
}

void FillValue(Random& random, int depth, int refs, common::AnyValue* out) {
  switch (random.Below(depth > 3 ? 6 : 8)) {
    case 0:
      out->set_string_value(random.Text());
      break;
    case 1:
      out->set_bool_value(random.OneIn(2));
      break;
    case 2:
      out->set_int_value(random.Number());
      break;
    case 3:
      out->set_double_value(static_cast<double>(random.Number()) / 8);
      break;
    case 4:
      out->set_bytes_value(random.Bytes(random.Below(9)));
      break;
    case 5:
      if (refs > 0) {
        out->set_string_value_strindex(random.Below(refs));
      } else {
        out->set_string_value("");
      }
      break;
    case 6:
      out->mutable_array_value();
      for (int i = random.Below(4); i > 0; --i) {
        FillValue(random, depth + 1, refs, out->mutable_array_value()->add_values());
      }
      break;
    default:
      out->mutable_kvlist_value();
      for (int i = random.Below(4); i > 0; --i) {
        common::KeyValue* kv = out->mutable_kvlist_value()->add_values();
        kv->set_key("k" + random.Text());
        if (refs > 1 && random.OneIn(2)) {
          kv->clear_key();
          kv->set_key_strindex(1 + random.Below(refs - 1));
        }
        FillValue(random, depth + 1, refs, kv->mutable_value());
      }
  }
}

void FillAttributes(Random& random, int refs,
                    google::protobuf::RepeatedPtrField<common::KeyValue>* out) {
  for (int i = random.Below(5); i > 0; --i) {
    common::KeyValue* kv = out->Add();
    if (refs > 1 && random.OneIn(2)) {
      kv->set_key_strindex(1 + random.Below(refs - 1));
    } else {
      kv->set_key("key" + random.Text());
    }
    FillValue(random, 0, refs, kv->mutable_value());
  }
}

namespace {

template <typename Field>
void AddIndices(Random& random, int size, int most, Field* out) {
  if (size < 2) return;
  for (int i = random.Below(most); i > 0; --i) out->Add(1 + random.Below(size - 1));
}

void FillDictionary(Random& random, bool refs, otlp::ProfilesDictionary* d) {
  const int strings = 3 + random.Below(30);
  d->add_string_table("");
  for (int i = 1; i < strings; ++i) d->add_string_table("s" + std::to_string(i) + random.Text());
  const auto string = [&] { return random.Below(strings); };
  d->add_attribute_table();
  for (int i = random.Below(8); i > 0; --i) {
    otlp::KeyValueAndUnit* a = d->add_attribute_table();
    a->set_key_strindex(string());
    a->set_unit_strindex(string());
    FillValue(random, 0, refs ? strings : 0, a->mutable_value());
  }
  // Uses the last string, as every string should be used.
  d->mutable_attribute_table()->Add()->set_key_strindex(strings - 1);
  const int attributes = d->attribute_table_size();
  d->add_mapping_table();
  for (int i = random.Below(4); i > 0; --i) {
    otlp::Mapping* m = d->add_mapping_table();
    m->set_memory_start(random.Bits());
    m->set_memory_limit(random.Bits());
    m->set_file_offset(random.Bits());
    m->set_filename_strindex(string());
    AddIndices(random, attributes, 4, m->mutable_attribute_indices());
  }
  d->add_function_table();
  for (int i = random.Below(9); i > 0; --i) {
    otlp::Function* f = d->add_function_table();
    f->set_name_strindex(string());
    f->set_system_name_strindex(string());
    f->set_filename_strindex(string());
    f->set_start_line(random.Number());
  }
  d->add_location_table();
  for (int i = random.Below(20); i > 0; --i) {
    otlp::Location* l = d->add_location_table();
    l->set_mapping_index(random.Below(d->mapping_table_size()));
    l->set_address(random.Bits());
    for (int n = random.Below(4); n > 0; --n) {
      otlp::Line* line = l->add_lines();
      line->set_function_index(random.Below(d->function_table_size()));
      line->set_line(random.Number());
      line->set_column(random.Number());
    }
    AddIndices(random, attributes, 4, l->mutable_attribute_indices());
  }
  d->add_stack_table();
  for (int i = random.Below(20); i > 0; --i) {
    AddIndices(random, d->location_table_size(), 40,
               d->add_stack_table()->mutable_location_indices());
  }
  d->add_link_table();
  for (int i = random.Below(5); i > 0; --i) {
    otlp::Link* l = d->add_link_table();
    l->set_trace_id(random.Bytes(16));
    l->set_span_id(random.Bytes(8));
  }
}

void FillProfile(Random& random, const otlp::ProfilesDictionary& d, otlp::Profile* p) {
  const auto string = [&] { return random.Below(d.string_table_size()); };
  p->mutable_sample_type()->set_type_strindex(1 + random.Below(d.string_table_size() - 1));
  p->mutable_sample_type()->set_unit_strindex(string());
  p->set_time_unix_nano(random.Bits());
  p->set_duration_nano(random.Bits());
  p->mutable_period_type()->set_type_strindex(1 + random.Below(d.string_table_size() - 1));
  p->set_period(random.Number());
  if (random.OneIn(2)) p->set_profile_id("\x01" + random.Bytes(15));
  p->set_dropped_attributes_count(static_cast<std::uint32_t>(random.Below(3)));
  if (random.OneIn(3)) {
    p->set_original_payload_format("pprof");
    p->set_original_payload(random.Bytes(30));
  }
  AddIndices(random, d.attribute_table_size(), 4, p->mutable_attribute_indices());
  const int shape = random.Below(3);
  for (int i = random.Below(20); i > 0; --i) {
    otlp::Sample* s = p->add_samples();
    s->set_stack_index(random.Below(d.stack_table_size()));
    s->set_link_index(random.Below(d.link_table_size()));
    AddIndices(random, d.attribute_table_size(), 4, s->mutable_attribute_indices());
    const int count = shape == 1 ? 1 : 1 + random.Below(5);
    for (int n = 0; n < count; ++n) {
      if (shape != 0) s->add_values(random.Number() / 8);
      if (shape != 1) s->add_timestamps_unix_nano(random.Bits());
    }
  }
}

void ResolveValue(const otlp::ProfilesDictionary& d, common::AnyValue* v);

void ResolveKeyValue(const otlp::ProfilesDictionary& d, common::KeyValue* kv) {
  if (kv->key_strindex() > 0) {
    kv->set_key(d.string_table(kv->key_strindex()));
    kv->clear_key_strindex();
  }
  if (kv->has_value()) ResolveValue(d, kv->mutable_value());
}

void ResolveValue(const otlp::ProfilesDictionary& d, common::AnyValue* v) {
  if (v->has_string_value_strindex()) {
    v->set_string_value(std::string(d.string_table(v->string_value_strindex())));
  }
  if (v->has_array_value()) {
    for (auto& item : *v->mutable_array_value()->mutable_values()) ResolveValue(d, &item);
  }
  if (v->has_kvlist_value()) {
    for (auto& item : *v->mutable_kvlist_value()->mutable_values()) ResolveKeyValue(d, &item);
  }
}

void FillResource(Random& random, int refs, opentelemetry::proto::resource::v1::Resource* r) {
  FillAttributes(random, refs, r->mutable_attributes());
  r->set_dropped_attributes_count(static_cast<std::uint32_t>(random.Below(3)));
  if (random.OneIn(3)) {
    common::EntityRef* e = r->add_entity_refs();
    e->set_type("service");
    e->add_id_keys("service.name");
  }
}

}  // namespace

otlp::ProfilesData RandomProfiles(std::uint64_t seed, bool refs) {
  Random random(seed);
  otlp::ProfilesData data;
  FillDictionary(random, refs, data.mutable_dictionary());
  const int strings = refs ? data.dictionary().string_table_size() : 0;
  for (int r = random.Below(3); r >= 0; --r) {
    otlp::ResourceProfiles* rp = data.add_resource_profiles();
    FillResource(random, strings, rp->mutable_resource());
    rp->set_schema_url(random.OneIn(2) ? "https://schema/1" : "");
    for (int s = random.Below(3); s >= 0; --s) {
      otlp::ScopeProfiles* sp = rp->add_scope_profiles();
      sp->mutable_scope()->set_name(random.Text());
      sp->mutable_scope()->set_version(random.OneIn(2) ? "1.2" : "");
      FillAttributes(random, strings, sp->mutable_scope()->mutable_attributes());
      sp->set_schema_url(random.OneIn(2) ? "https://schema/2" : "");
      for (int p = random.Below(3); p >= 0; --p) {
        FillProfile(random, data.dictionary(), sp->add_profiles());
      }
    }
  }
  return data;
}

void ResolveReferences(otlp::ProfilesData& data) {
  const otlp::ProfilesDictionary d = data.dictionary();
  for (auto& a : *data.mutable_dictionary()->mutable_attribute_table()) {
    if (a.has_value()) ResolveValue(d, a.mutable_value());
  }
  for (auto& rp : *data.mutable_resource_profiles()) {
    for (auto& kv : *rp.mutable_resource()->mutable_attributes()) ResolveKeyValue(d, &kv);
    for (auto& sp : *rp.mutable_scope_profiles()) {
      for (auto& kv : *sp.mutable_scope()->mutable_attributes()) ResolveKeyValue(d, &kv);
    }
  }
}

namespace {

// Replaces every index into the string table below `message` by number(index).
template <typename Number>
void EachStringIndex(google::protobuf::Message& message, const Number& number) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        EachStringIndex(*reflection.MutableRepeatedMessage(&message, field, i), number);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      EachStringIndex(*reflection.MutableMessage(&message, field), number);
    } else if (field->name().ends_with("_strindex")) {
      reflection.SetInt32(&message, field, number(reflection.GetInt32(message, field)));
    }
  }
}

}  // namespace

otlp::ProfilesData WithoutUnusedStrings(otlp::ProfilesData data) {
  std::map<int, int> numbers = {{0, 0}};
  EachStringIndex(data, [&](int index) { return numbers[index] = 0, index; });
  otlp::ProfilesDictionary& dictionary = *data.mutable_dictionary();
  const auto all = dictionary.string_table();
  dictionary.clear_string_table();
  for (auto& [index, number] : numbers) {
    number = dictionary.string_table_size();
    dictionary.add_string_table(all[index]);
  }
  EachStringIndex(data, [&](int index) { return numbers.at(index); });
  return data;
}

trace::TracesData RandomTraces(std::uint64_t seed) {
  Random random(seed);
  trace::TracesData data;
  for (int r = random.Below(3); r >= 0; --r) {
    trace::ResourceSpans* rs = data.add_resource_spans();
    FillResource(random, 0, rs->mutable_resource());
    rs->set_schema_url(random.OneIn(2) ? "https://schema/1" : "");
    for (int s = random.Below(3); s >= 0; --s) {
      trace::ScopeSpans* ss = rs->add_scope_spans();
      ss->mutable_scope()->set_name(random.Text());
      FillAttributes(random, 0, ss->mutable_scope()->mutable_attributes());
      for (int n = random.Below(4); n >= 0; --n) {
        trace::Span* span = ss->add_spans();
        span->set_trace_id("\x01" + random.Bytes(15));
        span->set_span_id("\x01" + random.Bytes(7));
        if (random.OneIn(2)) span->set_parent_span_id("\x02" + random.Bytes(7));
        span->set_name(random.Text());
        span->set_trace_state(random.OneIn(3) ? "a=b" : "");
        span->set_kind(static_cast<trace::Span::SpanKind>(random.Below(6)));
        span->set_start_time_unix_nano(random.Bits());
        span->set_end_time_unix_nano(random.Bits());
        span->set_flags(static_cast<std::uint32_t>(random.Bits()));
        span->set_dropped_attributes_count(static_cast<std::uint32_t>(random.Below(2)));
        span->set_dropped_events_count(static_cast<std::uint32_t>(random.Below(2)));
        span->set_dropped_links_count(static_cast<std::uint32_t>(random.Below(2)));
        FillAttributes(random, 0, span->mutable_attributes());
        for (int e = random.Below(3); e > 0; --e) {
          trace::Span::Event* event = span->add_events();
          event->set_time_unix_nano(random.Bits());
          event->set_name(random.Text());
          event->set_dropped_attributes_count(static_cast<std::uint32_t>(random.Below(2)));
          FillAttributes(random, 0, event->mutable_attributes());
        }
        for (int l = random.Below(3); l > 0; --l) {
          trace::Span::Link* link = span->add_links();
          link->set_trace_id("\x01" + random.Bytes(15));
          link->set_span_id("\x01" + random.Bytes(7));
          link->set_trace_state(random.OneIn(3) ? "c=d" : "");
          link->set_flags(static_cast<std::uint32_t>(random.Below(1024)));
          FillAttributes(random, 0, link->mutable_attributes());
        }
        if (random.OneIn(2)) {
          span->mutable_status()->set_code(trace::Status::STATUS_CODE_ERROR);
          span->mutable_status()->set_message(random.Text());
        }
      }
    }
  }
  return data;
}

}  // namespace wherefore::formats::testing
