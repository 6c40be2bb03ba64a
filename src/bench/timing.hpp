#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/gemm_timer.hpp"
#include "bench/parallel.hpp"
#include "bench/workload.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {

/// Milliseconds of a launch.
struct Timing {
  double median_ms, min_ms, max_ms;
};

struct LadderTimes {
  std::vector<Timing> rungs;     ///< in the order in which they were given
  std::optional<Timing> cublas;  ///< on the same problem, in turns with them; none in a program built without cuBLAS
};

/// Quick figures for a table that someone waits for: short bursts with short rests between them, in two rounds. At
/// 4096^3 the ladder takes about ten seconds on an H200.
/// @param shape     M, N, K and kind of the problem; the rest of it is not used: alpha is 1, beta 0, and the operands
/// are
///                  random copies of its own
/// @param kernels  of that kind
/// @throws InvalidArgument if there is no GPU or not enough memory, Error if a rate is above the ceiling
LadderTimes time_ladder(Device& device, const Problem& shape, std::span<const KernelEntry* const> kernels,
                        const OnProgress& progress = {});

struct KernelTime {
  Timing kernel;
  std::optional<Timing> cublas;  ///< as above; none for a kind that it does not know
};

/// The same for a kernel that is none of the ladder's.
/// @param shape   M, N, K and kind of the problem
/// @param launch  starts the kernel; leading dimensions are for it to choose
/// @throws InvalidArgument, Error and DeviceError as time_ladder does
KernelTime time_kernel(Device& device, const Problem& shape, const Contestant::Launch& launch,
                       const OnProgress& progress = {});

struct MeasureOptions {
  std::optional<BurstOptions> burst;
  std::optional<SustainedOptions> sustained;
};

enum class Mode : std::uint8_t { burst, sustained };

constexpr const char* name_of(Mode mode) { return mode == Mode::burst ? "burst" : "sustained"; }

struct LadderMeasurement {
  Entry entry;
  std::string ran;  ///< the id of the kernel that ran: the entry's, or what its rung falls back to
  TimedProblem problem;
  Mode mode;
  Measurement measurement;
};

/// cuBLAS by one of its algorithms, in turns with the kernels of that kind on a problem.
struct PeerMeasurement {
  GemmKind kind;
  TimedProblem problem;
  Mode mode;
  std::string name;  ///< "cuBLAS" for the one that it chooses itself
  Measurement measurement;
};

struct LadderReport {
  std::vector<LadderMeasurement> results;
  std::vector<PeerMeasurement> peers;
  std::vector<std::string> wrong;  ///< one line for each kernel and problem with a wrong result, which was not timed
  std::vector<LeftOut> left_out;   ///< kernels on problems that they do not take, or that there is no memory for
  bool complete = false;           ///< all of the tasks are done
  nlohmann::ordered_json receipt;  ///< see bench/receipt.hpp
};

/// Is told of what there is so far, with a receipt, whenever something was added. Measuring ends where it says no.
using OnMeasured = std::function<bool(const LadderReport& so_far)>;

/// Measures kernels on a GPU beside cuBLAS, by the algorithm that it chooses itself and by the fastest of all those
/// that it has for the problem: verifies every result of each kernel on a small ragged problem and on each problem that
/// is timed, then times the right ones, those of one kind in turns, problem after problem.
/// @throws InvalidArgument if there is no GPU, Error if cuBLAS is wrong or a rate is above the ceiling
LadderReport measure_ladder(Device& device, std::span<const Task> tasks, const MeasureOptions& options,
                            const OnProgress& progress = {}, const OnMeasured& measured = {});

}  // namespace lapidary::bench
