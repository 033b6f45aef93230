#include "elf/elf_file.h"

#include "elf/testing.h"

namespace wherefore::elf {
namespace {

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

TEST(ElfFile, BuildIdIsTheOneReadelfPrints) {
  for (const std::string& path : {LoadedLibrary("libc.so"), LoadedLibrary("libstdc++")}) {
    auto file = ElfFile::Open(path);
    ASSERT_TRUE(file) << file.error().message();
    const std::string notes = Output("readelf -n " + path);
    EXPECT_EQ(file->build_id().size(), 20u);
    EXPECT_NE(notes.find("Build ID: " + Hex(file->build_id()) + "\n"), std::string::npos) << notes;
  }
}

TEST(ElfFile, SectionsAndAddressesAgree) {
  auto file = ElfFile::Open(ThisProgram());
  ASSERT_TRUE(file) << file.error().message();
  const Section* const text = file->FindSection(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(file->OffsetOfAddress(text->address), text->offset);
  EXPECT_EQ(file->AddressOfOffset(text->offset), text->address);
  EXPECT_EQ(file->OffsetOfAddress(std::uint64_t{1} << 60), std::nullopt);
  auto by_section = file->Read(*text);
  auto by_address = file->ReadAddress(text->address, text->size);
  ASSERT_TRUE(by_section && by_address);
  EXPECT_TRUE(std::ranges::equal(by_section->bytes(), by_address->bytes()));
  EXPECT_FALSE(file->Read(*file->FindSection(".bss")));
}

TEST(ElfFile, TheCopyOfALoadedModuleIsItsFile) {
  auto disk = ElfFile::Open(LoadedLibrary("libc.so"));
  ASSERT_TRUE(disk) << disk.error().message();
  PageArena arena;
  const ModuleCopy copy = CopyOfLoaded("libc.so", arena);
  auto loaded = ElfFile::FromCopy(copy);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->build_id(), disk->build_id());
  EXPECT_EQ(loaded->base_address(), disk->base_address());
  const Section& frames = *disk->FindSection(".eh_frame");
  auto here = loaded->ReadAddress(frames.address, frames.size);
  EXPECT_TRUE(here && std::ranges::equal(here->bytes(), disk->Read(frames)->bytes()));
  EXPECT_FALSE(loaded->ReadAddress(disk->FindSection(".text")->address, 8)) << "not copied";
}

TEST(ElfFile, RefusesWhatItCannotRead) {
  EXPECT_FALSE(ElfFile::Open("/nowhere/at/all"));
  EXPECT_FALSE(ElfFile::Open("/dev/zero"));
  const std::string text =
      "#!/bin/sh\n# not a program for the machine, and long enough to be one\n";
  EXPECT_FALSE(
      ElfFile::FromBytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

TEST(ElfFile, AFileCutShortWhileOpenGivesAnError) {
  const ScratchFolder folder;
  const std::string copy = folder / "library";
  std::filesystem::copy_file(LoadedLibrary("libc.so"), copy);
  auto file = ElfFile::Open(copy);
  ASSERT_TRUE(file);
  const Section* const text = file->FindSection(".text");
  ASSERT_NE(text, nullptr);
  std::filesystem::resize_file(copy, text->offset + 10);
  EXPECT_FALSE(file->Read(*text));
}

}  // namespace
}  // namespace wherefore::elf
