// Field numbers of OTLP profiles (opentelemetry-proto 1.10 and later), traces and their common
// parts.
//
// One namespace per message, names as in the .proto files. Numbers of 1.8/1.9 that differ are in
// old_sample and old_profile. Nothing else in the project knows these numbers.
#pragma once

#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace envelope {  // ProfilesData = ExportProfilesServiceRequest; ResourceSpans share the shape
inline constexpr Tag kResources = 1, kDictionary = 2;
inline constexpr Tag kResource = 1, kScopes = 2, kSchemaUrl = 3;  // ResourceProfiles, ResourceSpans
inline constexpr Tag kScope = 1, kItems = 2;                      // ScopeProfiles, ScopeSpans
}  // namespace envelope

namespace dictionary {
inline constexpr Tag kMappings = 1, kLocations = 2, kFunctions = 3, kLinks = 4, kStrings = 5,
                     kAttributes = 6, kStacks = 7;
}  // namespace dictionary

namespace mapping {
inline constexpr Tag kStart = 1, kLimit = 2, kFileOffset = 3, kFilename = 4, kAttributes = 5;
}  // namespace mapping

namespace location {
inline constexpr Tag kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4;
}  // namespace location

namespace line {
inline constexpr Tag kFunction = 1, kLine = 2, kColumn = 3;
}  // namespace line

namespace function {
inline constexpr Tag kName = 1, kSystemName = 2, kFilename = 3, kStartLine = 4;
}  // namespace function

namespace link {
inline constexpr Tag kTraceId = 1, kSpanId = 2;
}  // namespace link

namespace stack {
inline constexpr Tag kLocations = 1;
}  // namespace stack

namespace value_type {
inline constexpr Tag kType = 1, kUnit = 2;
}  // namespace value_type

namespace table_attribute {  // KeyValueAndUnit
inline constexpr Tag kKey = 1, kValue = 2, kUnit = 3;
}  // namespace table_attribute

namespace profile_field {
inline constexpr Tag kSampleType = 1, kSamples = 2, kTime = 3, kDuration = 4, kPeriodType = 5,
                     kPeriod = 6, kId = 7, kDropped = 8, kPayloadFormat = 9, kPayload = 10,
                     kAttributes = 11;
}  // namespace profile_field

namespace old_profile {  // 1.8: comments moved the rest up by one
inline constexpr Tag kComments = 7, kId = 8, kDropped = 9, kPayloadFormat = 10, kPayload = 11,
                     kAttributes = 12;
}  // namespace old_profile

namespace sample {
inline constexpr Tag kStack = 1, kAttributes = 2, kLink = 3, kValues = 4, kTimes = 5;
}  // namespace sample

namespace old_sample {  // 1.8 and 1.9
inline constexpr Tag kValues = 2, kAttributes = 3, kLink = 4;
}  // namespace old_sample

namespace any_value {
inline constexpr Tag kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5, kMap = 6,
                     kBytes = 7, kStringRef = 8;
}  // namespace any_value

namespace value_list {  // ArrayValue, KeyValueList
inline constexpr Tag kValues = 1;
}  // namespace value_list

namespace key_value {
inline constexpr Tag kKey = 1, kValue = 2, kKeyRef = 3;
}  // namespace key_value

namespace scope {
inline constexpr Tag kName = 1, kVersion = 2, kAttributes = 3, kDropped = 4;
}  // namespace scope

namespace resource {
inline constexpr Tag kAttributes = 1, kDropped = 2, kEntityRefs = 3;
}  // namespace resource

namespace span {
inline constexpr Tag kTraceId = 1, kSpanId = 2, kTraceState = 3, kParent = 4, kName = 5, kKind = 6,
                     kStart = 7, kEnd = 8, kAttributes = 9, kDroppedAttributes = 10, kEvents = 11,
                     kDroppedEvents = 12, kLinks = 13, kDroppedLinks = 14, kStatus = 15,
                     kFlags = 16;
}  // namespace span

namespace span_event {
inline constexpr Tag kTime = 1, kName = 2, kAttributes = 3, kDropped = 4;
}  // namespace span_event

namespace span_link {
inline constexpr Tag kTraceId = 1, kSpanId = 2, kTraceState = 3, kAttributes = 4, kDropped = 5,
                     kFlags = 6;
}  // namespace span_link

namespace span_status {
inline constexpr Tag kMessage = 2, kCode = 3;
}  // namespace span_status

}  // namespace wherefore::formats
