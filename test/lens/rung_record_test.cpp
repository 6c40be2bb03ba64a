// What builds without an optional rung show of it: the record must be that of the source, and what the emulated machine
// sees where the rung is there.
#include "lens/rung_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "kernels/sources.hpp"
#include "lens/explain.hpp"

namespace lapidary::lens {
namespace {

constexpr const char* advice = "run script/measure --emulator in a build that has it";

std::string recorded_text(std::string_view rung) {
  std::ifstream file(data_file(record_file(rung)));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RungRecord, IsOfTheSource) {
  ASSERT_FALSE(optional_rungs().empty());
  for (const OptionalRung& rung : optional_rungs()) {
    const RungRecord record = parse_record(recorded_text(rung.name), rung.name);
    EXPECT_EQ(record.source_hash, rung_source_hash(rung.name)) << rung.name << ": " << advice;
    EXPECT_EQ(record.rung.source, rung.source);
  }
}

// To the byte; without the rung, that reading a record leaves nothing of it out.
TEST(RungRecord, IsWhatTheMachineSees) {
  for (const OptionalRung& rung : optional_rungs()) {
    const std::string text = recorded_text(rung.name);
    const RungRecord seen = rung.built ? record(find_rung(rung.name)) : parse_record(text, rung.name);
    EXPECT_TRUE(to_text(seen) == text) << rung.name << ": " << advice;
  }
}

TEST(RungRecord, OfTheTwinOverCuteCountsWhatItsParentDoes) {
  const Rung &twin = known_rung("f16_cute"), &parent = find_rung("f16_padded");
  for (const std::int64_t size : {counted_size, page_size}) {
    const auto counts = [&](const Rung& rung) {
      const KernelEntry& kernel = rung.kernels.front();
      const Observation seen = observation_of(
          {&rung, &kernel, {.kind = kernel.kind, .M = size, .N = size, .K = size}, model::find_gpu("h200")});
      const emulator::Counters& c = seen.written.total;
      return std::tuple(seen.blocks, seen.launch.block.x, seen.launch.shared_bytes, c.global_load.requests,
                        c.global_load.sectors, c.global_store.requests, c.global_store.sectors,
                        c.shared_load.wavefronts, c.shared_load.minimum, c.shared_store.wavefronts,
                        c.shared_store.minimum, seen.compiled.total.shared_load.wavefronts, c.fma);
    };
    EXPECT_EQ(counts(twin), counts(parent)) << size;
  }
  EXPECT_EQ(owners_of(twin).owner, owners_of(parent).owner);
}

TEST(RungRecord, RefusesWhatIsNone) {
  try {
    parse_record("{\"family\": 1}", "some.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("some.json is not what lapidary report --record writes: "), 0u);
  }
  const Rung& twin = known_rung("f16_cute");
  if (!optional_rungs().front().built) {
    const KernelEntry& kernel = twin.kernels.front();
    const Question unrecorded{&twin, &kernel, {.kind = kernel.kind, .M = 300, .N = 200, .K = 100}, {}};
    EXPECT_THROW(observation_of(unrecorded), InvalidArgument);
  }
}

TEST(WholeLadder, HasOptionalRungsInTheirPlaces) {
  const auto at = std::find_if(whole_ladder().begin(), whole_ladder().end(),
                               [](const Rung& rung) { return rung.name() == "f16_cute"; });
  ASSERT_NE(at, whole_ladder().end());
  EXPECT_EQ(at[-1].get().name(), "f16_unpadded");
  EXPECT_EQ(at[1].get().name(), "wmma");
  EXPECT_EQ(std::string(at->get().info->parent), "f16_padded");
  EXPECT_EQ(at->get().family, "simt");
  EXPECT_EQ(to_string(at->get().kernels.front().tile), "128x128x64");
  EXPECT_EQ(&known_rung("f16_cute"), &at->get());
}

}  // namespace
}  // namespace lapidary::lens
