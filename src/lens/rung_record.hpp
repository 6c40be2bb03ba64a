#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"
#include "lens/block_accesses.hpp"
#include "lens/explanation.hpp"
#include "lens/observe.hpp"

// Optional rungs (kernels/registry.hpp) in programs that were built without them. A program that has one records what
// the emulated machine saw of it, `lapidary report --record`; the others make its page and its row of that.

namespace lapidary::lens {

struct RecordedObservation {
  std::size_t kernel;  ///< of the rung
  std::int64_t M, N, K;
  Observation observation;
};

/// What pages, tables and pictures of the ladder tell of a rung that was not measured and is not machine code.
struct RungRecord {
  Rung rung;                             ///< read from a file its kernels have no launch
  std::shared_ptr<const RungInfo> info;  ///< that of `rung`, if it was read from a file
  std::string source_hash;               ///< rung_source_hash() when it was recorded
  std::vector<RecordedObservation> observations;
  TileOwners owners;  ///< of the first kernel
};

/// The problem whose counters README shows: M = N = K, as script/measure runs the ladder on the emulated machine.
constexpr std::int64_t counted_size = 256;

/// "results/emulator/f16_cute.json", below the project's root.
std::string record_file(std::string_view rung);

/// Runs a rung on the emulated machine.
/// @throws Error if its page would show what a record has not: blocks with several tiles, or in an order of their own,
///         or accesses to global memory where none go to shared memory
RungRecord record(const Rung& rung);

/// The text of a record's file. Without what differs from run to run: addresses of global memory, program counters.
std::string to_text(const RungRecord& record);
/// @param name  of the file, for messages. @throws Error if the text is not what to_text() makes
RungRecord parse_record(std::string_view text, std::string_view name);

/// All rungs in the order of the ladder, also those that this program was built without.
/// @throws Error if one of these has no record
const std::vector<std::reference_wrapper<const Rung>>& whole_ladder();

/// A rung of the whole ladder. @throws InvalidArgument as find_rung()
const Rung& known_rung(std::string_view name);

/// Whether observation_of() finds something: the program has the instrumented build of the kernel, or the rung's
/// record.
bool is_observable(const Rung& rung, const KernelEntry& kernel);

/// What the emulated machine sees of a launch, or, of a rung that this program was built without, what it once saw.
/// @throws InvalidArgument as observe(), or if the problem is not on record
Observation observation_of(const Question& question);

/// What it sees of two steps of one block, or, of a rung that this program was built without, of the problem of pages.
/// @throws likewise
Observation observation_of_block(const Rung& rung, const KernelEntry& kernel);

/// Of the first kernel, likewise. @throws as tile_owners()
TileOwners owners_of(const Rung& rung);

}  // namespace lapidary::lens
