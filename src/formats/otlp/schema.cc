#include "formats/otlp/schema.h"

#include <string_view>

#include "formats/otlp/fields.h"

namespace wherefore::formats {

namespace {

using K = FieldKind;

// Values and lists of values refer to each other, so both are declared first.
extern const Schema kAnyValue;
extern const Schema kKeyValue;

constexpr Field Msg(std::string_view json, Tag tag, const Schema* schema, bool repeated = false) {
  return {json, tag, K::kMessage, repeated, schema};
}

const Field kArrayFields[] = {Msg("values", 1, &kAnyValue, true)};
const Schema kArray{kArrayFields};
const Field kMapFields[] = {Msg("values", 1, &kKeyValue, true)};
const Schema kMap{kMapFields};
const Field kAnyValueFields[] = {{"stringValue", any_value::kString, K::kString},
                                 {"boolValue", any_value::kBool, K::kBool},
                                 {"intValue", any_value::kInt, K::kInt64},
                                 {"doubleValue", any_value::kDouble, K::kDouble},
                                 Msg("arrayValue", any_value::kArray, &kArray),
                                 Msg("kvlistValue", any_value::kMap, &kMap),
                                 {"bytesValue", any_value::kBytes, K::kBytes},
                                 {"stringValueStrindex", any_value::kStringRef, K::kInt32}};
const Schema kAnyValue{kAnyValueFields};
const Field kKeyValueFields[] = {{"key", key_value::kKey, K::kString},
                                 Msg("value", key_value::kValue, &kAnyValue),
                                 {"keyStrindex", key_value::kKeyRef, K::kInt32}};
const Schema kKeyValue{kKeyValueFields};

const Field kEntityRefFields[] = {{"schemaUrl", 1, K::kString},
                                  {"type", 2, K::kString},
                                  {"idKeys", 3, K::kString, true},
                                  {"descriptionKeys", 4, K::kString, true}};
const Schema kEntityRef{kEntityRefFields};
const Field kResourceFields[] = {Msg("attributes", resource::kAttributes, &kKeyValue, true),
                                 {"droppedAttributesCount", resource::kDropped, K::kUint32},
                                 Msg("entityRefs", resource::kEntityRefs, &kEntityRef, true)};
const Schema kResource{kResourceFields};
const Field kScopeFields[] = {{"name", scope::kName, K::kString},
                              {"version", scope::kVersion, K::kString},
                              Msg("attributes", scope::kAttributes, &kKeyValue, true),
                              {"droppedAttributesCount", scope::kDropped, K::kUint32}};
const Schema kScope{kScopeFields};

// Profiles.
const Field kValueTypeFields[] = {{"typeStrindex", value_type::kType, K::kInt32},
                                  {"unitStrindex", value_type::kUnit, K::kInt32}};
const Schema kValueType{kValueTypeFields};
const Field kSampleFields[] = {{"stackIndex", sample::kStack, K::kInt32},
                               {"attributeIndices", sample::kAttributes, K::kInt32, true},
                               {"linkIndex", sample::kLink, K::kInt32},
                               {"values", sample::kValues, K::kInt64, true},
                               {"timestampsUnixNano", sample::kTimes, K::kFixed64, true}};
const Schema kSample{kSampleFields};
const Field kProfileFields[] = {
    Msg("sampleType", profile_field::kSampleType, &kValueType),
    Msg("samples", profile_field::kSamples, &kSample, true),
    {"timeUnixNano", profile_field::kTime, K::kFixed64},
    {"durationNano", profile_field::kDuration, K::kUint64},
    Msg("periodType", profile_field::kPeriodType, &kValueType),
    {"period", profile_field::kPeriod, K::kInt64},
    {"profileId", profile_field::kId, K::kProfileId},
    {"droppedAttributesCount", profile_field::kDropped, K::kUint32},
    {"originalPayloadFormat", profile_field::kPayloadFormat, K::kString},
    {"originalPayload", profile_field::kPayload, K::kBytes},
    {"attributeIndices", profile_field::kAttributes, K::kInt32, true}};
const Schema kProfile{kProfileFields};
const Field kScopeProfilesFields[] = {Msg("scope", envelope::kScope, &kScope),
                                      Msg("profiles", envelope::kItems, &kProfile, true),
                                      {"schemaUrl", envelope::kSchemaUrl, K::kString}};
const Schema kScopeProfiles{kScopeProfilesFields};
const Field kResourceProfilesFields[] = {
    Msg("resource", envelope::kResource, &kResource),
    Msg("scopeProfiles", envelope::kScopes, &kScopeProfiles, true),
    {"schemaUrl", envelope::kSchemaUrl, K::kString}};
const Schema kResourceProfiles{kResourceProfilesFields};

const Field kMappingFields[] = {{"memoryStart", mapping::kStart, K::kUint64},
                                {"memoryLimit", mapping::kLimit, K::kUint64},
                                {"fileOffset", mapping::kFileOffset, K::kUint64},
                                {"filenameStrindex", mapping::kFilename, K::kInt32},
                                {"attributeIndices", mapping::kAttributes, K::kInt32, true}};
const Schema kMapping{kMappingFields};
const Field kLineFields[] = {{"functionIndex", line::kFunction, K::kInt32},
                             {"line", line::kLine, K::kInt64},
                             {"column", line::kColumn, K::kInt64}};
const Schema kLine{kLineFields};
const Field kLocationFields[] = {{"mappingIndex", location::kMapping, K::kInt32},
                                 {"address", location::kAddress, K::kUint64},
                                 Msg("lines", location::kLines, &kLine, true),
                                 {"attributeIndices", location::kAttributes, K::kInt32, true}};
const Schema kLocation{kLocationFields};
const Field kFunctionFields[] = {{"nameStrindex", function::kName, K::kInt32},
                                 {"systemNameStrindex", function::kSystemName, K::kInt32},
                                 {"filenameStrindex", function::kFilename, K::kInt32},
                                 {"startLine", function::kStartLine, K::kInt64}};
const Schema kFunction{kFunctionFields};
const Field kLinkFields[] = {{"traceId", link::kTraceId, K::kHex},
                             {"spanId", link::kSpanId, K::kHex}};
const Schema kLink{kLinkFields};
const Field kTableAttributeFields[] = {{"keyStrindex", table_attribute::kKey, K::kInt32},
                                       Msg("value", table_attribute::kValue, &kAnyValue),
                                       {"unitStrindex", table_attribute::kUnit, K::kInt32}};
const Schema kTableAttribute{kTableAttributeFields};
const Field kStackFields[] = {{"locationIndices", stack::kLocations, K::kInt32, true}};
const Schema kStack{kStackFields};
const Field kDictionaryFields[] = {
    Msg("mappingTable", dictionary::kMappings, &kMapping, true),
    Msg("locationTable", dictionary::kLocations, &kLocation, true),
    Msg("functionTable", dictionary::kFunctions, &kFunction, true),
    Msg("linkTable", dictionary::kLinks, &kLink, true),
    {"stringTable", dictionary::kStrings, K::kString, true},
    Msg("attributeTable", dictionary::kAttributes, &kTableAttribute, true),
    Msg("stackTable", dictionary::kStacks, &kStack, true)};
const Schema kDictionary{kDictionaryFields};
const Field kProfilesFields[] = {
    Msg("resourceProfiles", envelope::kResources, &kResourceProfiles, true),
    Msg("dictionary", envelope::kDictionary, &kDictionary)};
const Schema kProfiles{kProfilesFields};

// Traces.
const Field kEventFields[] = {{"timeUnixNano", span_event::kTime, K::kFixed64},
                              {"name", span_event::kName, K::kString},
                              Msg("attributes", span_event::kAttributes, &kKeyValue, true),
                              {"droppedAttributesCount", span_event::kDropped, K::kUint32}};
const Schema kEvent{kEventFields};
const Field kSpanLinkFields[] = {{"traceId", span_link::kTraceId, K::kHex},
                                 {"spanId", span_link::kSpanId, K::kHex},
                                 {"traceState", span_link::kTraceState, K::kString},
                                 Msg("attributes", span_link::kAttributes, &kKeyValue, true),
                                 {"droppedAttributesCount", span_link::kDropped, K::kUint32},
                                 {"flags", span_link::kFlags, K::kFixed32}};
const Schema kSpanLink{kSpanLinkFields};
const Field kStatusFields[] = {{"message", span_status::kMessage, K::kString},
                               {"code", span_status::kCode, K::kInt32}};
const Schema kStatus{kStatusFields};
const Field kSpanFields[] = {{"traceId", span::kTraceId, K::kHex},
                             {"spanId", span::kSpanId, K::kHex},
                             {"traceState", span::kTraceState, K::kString},
                             {"parentSpanId", span::kParent, K::kHex},
                             {"name", span::kName, K::kString},
                             {"kind", span::kKind, K::kInt32},
                             {"startTimeUnixNano", span::kStart, K::kFixed64},
                             {"endTimeUnixNano", span::kEnd, K::kFixed64},
                             Msg("attributes", span::kAttributes, &kKeyValue, true),
                             {"droppedAttributesCount", span::kDroppedAttributes, K::kUint32},
                             Msg("events", span::kEvents, &kEvent, true),
                             {"droppedEventsCount", span::kDroppedEvents, K::kUint32},
                             Msg("links", span::kLinks, &kSpanLink, true),
                             {"droppedLinksCount", span::kDroppedLinks, K::kUint32},
                             Msg("status", span::kStatus, &kStatus),
                             {"flags", span::kFlags, K::kFixed32}};
const Schema kSpan{kSpanFields};
const Field kScopeSpansFields[] = {Msg("scope", envelope::kScope, &kScope),
                                   Msg("spans", envelope::kItems, &kSpan, true),
                                   {"schemaUrl", envelope::kSchemaUrl, K::kString}};
const Schema kScopeSpans{kScopeSpansFields};
const Field kResourceSpansFields[] = {Msg("resource", envelope::kResource, &kResource),
                                      Msg("scopeSpans", envelope::kScopes, &kScopeSpans, true),
                                      {"schemaUrl", envelope::kSchemaUrl, K::kString}};
const Schema kResourceSpans{kResourceSpansFields};
const Field kTracesFields[] = {Msg("resourceSpans", envelope::kResources, &kResourceSpans, true)};
const Schema kTraces{kTracesFields};

}  // namespace

const Schema& ProfilesSchema() {
  return kProfiles;
}
const Schema& TracesSchema() {
  return kTraces;
}

}  // namespace wherefore::formats
