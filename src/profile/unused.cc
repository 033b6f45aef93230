#include "profile/unused.h"

namespace wherefore::profile {
namespace {

// What the profiles reach, table by table.
class Reached {
 public:
  explicit Reached(const Batch& batch)
      : batch_(batch),
        resources_(batch.resources.size()),
        scopes_(batch.scopes.size()),
        mappings_(batch.mappings.size()),
        functions_(batch.functions.size()),
        frames_(batch.frames.size()),
        stacks_(batch.stacks.size()),
        links_(batch.links.size()),
        attributes_(batch.attributes.size()),
        strings_(batch.strings.size()) {
    for (const Profile& profile : batch.profiles) Mark(profile);
  }

  void BlankOthers(Batch& batch) const {
    Blank(batch.resources, resources_);
    Blank(batch.scopes, scopes_);
    Blank(batch.mappings, mappings_);
    Blank(batch.functions, functions_);
    Blank(batch.frames, frames_);
    Blank(batch.stacks, stacks_);
    Blank(batch.links, links_);
    Blank(batch.attributes, attributes_);
    Blank(batch.strings, strings_);
    // Attributes of a resource that is gone, or that were replaced by others.
    std::vector<bool> own(batch.own_attributes.size());
    const auto keep = [&own](Range range) {
      for (std::uint32_t i = 0; i < range.count; ++i) own[range.begin + i] = true;
    };
    for (const Resource& resource : batch.resources) keep(resource.attributes);
    for (const Scope& scope : batch.scopes) keep(scope.attributes);
    Blank(batch.own_attributes, own);
  }

  // After BlankOthers.
  void RemoveOthers(Batch& batch) const {
    const std::vector<Id> mappings = Compact(batch.mappings, mappings_);
    const std::vector<Id> functions = Compact(batch.functions, functions_);
    const std::vector<Id> frames = Compact(batch.frames, frames_);
    const std::vector<Id> stacks = Compact(batch.stacks, stacks_);
    const std::vector<Id> links = Compact(batch.links, links_);
    const std::vector<Id> attributes = Compact(batch.attributes, attributes_);
    for (Line& line : batch.lines) line.function = functions[line.function];
    for (Frame& frame : batch.frames) frame.mapping = mappings[frame.mapping];
    for (Id& frame : batch.stack_frames) frame = frames[frame];
    for (Id& ref : batch.attribute_refs) ref = attributes[ref];
    for (Id& stack : batch.samples.stack) stack = stacks[stack];
    for (Id& link : batch.samples.link) link = links[link];
  }

 private:
  template <typename T>
  static void Blank(std::vector<T>& table, const std::vector<bool>& reached) {
    for (std::size_t i = 1; i < table.size(); ++i) {
      if (!reached[i]) table[i] = T();
    }
  }

  // False if it was marked before.
  static bool First(std::vector<bool>& table, Id id) {
    if (table[id]) return false;
    table[id] = true;
    return true;
  }

  void Mark(const Profile& p) {
    if (First(resources_, p.resource)) Mark(batch_.resources[p.resource]);
    if (First(scopes_, p.scope)) Mark(batch_.scopes[p.scope]);
    for (const Id text : {p.name, p.sample_type.type, p.sample_type.unit, p.period_type.type,
                          p.period_type.unit, p.payload_format}) {
      strings_[text] = true;
    }
    MarkRefs(p.attributes);
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      MarkRefs(batch_.samples.attributes[i]);
      links_[batch_.samples.link[i]] = true;
      if (First(stacks_, batch_.samples.stack[i])) MarkStack(batch_.samples.stack[i]);
    }
  }

  void MarkStack(Id stack) {
    for (const Id id : batch_.StackFrames(stack)) {
      if (!First(frames_, id)) continue;
      const Frame& frame = batch_.frames[id];
      MarkRefs(frame.attributes);
      if (First(mappings_, frame.mapping)) {
        strings_[batch_.mappings[frame.mapping].filename] = true;
        MarkRefs(batch_.mappings[frame.mapping].attributes);
      }
      for (const Line& line : batch_.FrameLines(frame)) {
        if (!First(functions_, line.function)) continue;
        const Function& function = batch_.functions[line.function];
        for (const Id text : {function.name, function.system_name, function.filename}) {
          strings_[text] = true;
        }
      }
    }
  }

  void Mark(const Resource& resource) {
    strings_[resource.schema_url] = true;
    strings_[resource.entity_refs] = true;
    for (const Attribute& a : batch_.OwnAttributes(resource.attributes)) Mark(a);
  }
  void Mark(const Scope& scope) {
    for (const Id text : {scope.name, scope.version, scope.schema_url}) strings_[text] = true;
    for (const Attribute& a : batch_.OwnAttributes(scope.attributes)) Mark(a);
  }
  void MarkRefs(Range refs) {
    for (const Id id : batch_.AttributeRefs(refs)) {
      if (First(attributes_, id)) Mark(batch_.attributes[id]);
    }
  }
  void Mark(const Attribute& a) {
    for (const Id text : {a.key, a.unit, a.value.text}) strings_[text] = true;
  }

  // The new index of each entry that is reached, 0 for the others.
  template <typename T>
  static std::vector<Id> Compact(std::vector<T>& table, const std::vector<bool>& reached) {
    std::vector<Id> moved(table.size());
    Id next = 1;
    for (std::size_t i = 1; i < table.size(); ++i) {
      if (!reached[i]) continue;
      moved[i] = next;
      table[next++] = table[i];
    }
    table.resize(next);
    return moved;
  }

  const Batch& batch_;
  std::vector<bool> resources_, scopes_, mappings_, functions_, frames_, stacks_, links_,
      attributes_, strings_;
};

}  // namespace

void BlankUnused(Batch& batch) {
  Reached(batch).BlankOthers(batch);
}

void RemoveUnused(Batch& batch) {
  const Reached reached(batch);
  reached.BlankOthers(batch);
  reached.RemoveOthers(batch);
}

}  // namespace wherefore::profile
