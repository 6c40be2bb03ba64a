#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernels/registry.hpp"
#include "lens/observe.hpp"
#include "model/address_work.hpp"
#include "model/energy.hpp"
#include "model/gpu.hpp"
#include "model/l2_traffic.hpp"
#include "model/occupancy.hpp"
#include "model/roofline.hpp"
#include "model/sass.hpp"
#include "model/time.hpp"

namespace lapidary::lens {

/// What is to be explained: a kernel of a rung on a problem of its kind and a GPU. The matrices are aligned and
/// without gaps between rows.
struct Question {
  const Rung* rung;
  const KernelEntry* kernel;
  Problem problem;
  model::Gpu gpu;

  /// The problem as the model counts its bytes.
  model::GemmShape gemm() const {
    return {problem.M,        problem.N, problem.K, size_of(problem.kind.type), size_of(problem.kind.result),
            problem.reads_c()};
  }
};

/// The traffic of one matrix, over the launch.
struct MatrixTraffic {
  std::string name;  ///< "A"
  bool written = false;
  std::uint64_t requests = 0, sectors = 0;
  std::uint64_t boxes = 0;     ///< of the requests, those that are bulk copies
  double multicast_bytes = 0;  ///< that reach further blocks without leaving L2 once more
  double sectors_per_request = 0;
  double efficiency = 0;  ///< bytes that lanes asked for, over those that sectors moved
  double bytes = 0;       ///< moved
  double bytes_per_result = 0;
  double elements = 0;             ///< that threads and bulk copies asked for
  double accesses_per_result = 0;  ///< the same for each element of D
};

/// How often an element of A or B is read from global memory, on average over the launch.
struct OperandReads {
  std::string matrix;      ///< "A" or "B"
  double times = 0;        ///< MatrixTraffic::elements, over those that the matrix has
  std::int64_t tiles = 0;  ///< of D that need an element: ceil(N / BN) of A, ceil(M / BM) of B
  std::string why;         ///< it is not read once for each of them; empty if it is
};

/// The accesses of one source line to shared memory.
struct SharedTraffic {
  std::string file;
  int line = 0;
  bool store = false;
  int bytes = 0;
  std::uint64_t instructions = 0, wavefronts = 0, minimum = 0;
  std::string cause;  ///< of the excess; empty if there is none
};

/// What reading operands from shared memory takes.
struct SharedLoads {
  double per_fma = 0;                        ///< elements for each multiply-add, those that wgmma reads too
  double instructions_per_fma = 0;           ///< warp instructions for each of a warp's multiply-adds, as written
  double compiled_instructions_per_fma = 0;  ///< the same, with neighbours merged
};

/// A counter of the GPU's beside what the lens says it is.
struct CounterComparison {
  std::string counter;
  double written;   ///< as the source has it
  double compiled;  ///< as the machine code has it, where it tells; otherwise as written
  double measured;
};

/// The accesses to memory of one source line, as it is written and as the machine code has them.
struct CompiledAccess {
  std::string file;
  int line = 0;
  model::InstructionClass kind{};
  std::map<int, std::uint64_t> written;  ///< warp instructions of the launch by bytes of a lane
  std::map<int, int> machine;            ///< machine instructions by bytes of a lane

  /// All lines of this kind together have as many of each width as was written: where one of them has not, line
  /// information has some of its instructions under another.
  bool exchanged = false;

  /// ptxas made one wider access of several neighbours, at least in some places.
  bool is_merged() const { return !exchanged && !written.empty() && machine.rbegin()->first > written.rbegin()->first; }
  /// It made several accesses of one: all are narrower. Where only some are they may be those of a path that this
  /// problem does not take.
  bool is_split() const { return !exchanged && !written.empty() && machine.rbegin()->first < written.begin()->first; }
};

/// What a kernel multiplies with.
struct Peak {
  /// "f32", or of tensor cores the instruction and the operands: "mma.sync bf16", "wgmma bf16"; with its shape if
  /// that is the shorter of two, "mma.sync m16n8k8 bf16"
  std::string name;
  double flops = 0;   ///< their highest rate on the card, in FLOP/s; 0: it has none, or no source states it
  bool known = true;  ///< whether it is known
};

/// How long DRAM takes for the compulsory bytes, and what multiplies for the FLOP, each at its highest rate: no kernel
/// needs less than the longer of the two.
struct LeastTime {
  double dram_bytes_per_s = 0;  ///< read by a loop where that was measured (data/gpus.csv), otherwise as published
  bool dram_measured = false;
  double memory_seconds = 0;
  Peak peak;
  std::optional<double> compute_seconds;  ///< empty where the card lacks the units, or their rate is not known
};

/// For what the warps of a multiprocessor waited, as Nsight Compute samples it.
struct Stall {
  std::string reason;  ///< its name there, without "stall_": "long_scoreboard"
  double share;        ///< of all cycles that warps did not issue in
};

/// What its warps execute of the machine code on record, on average.
struct Executed {
  model::InstructionMix pass;                 ///< of the main loop; of warpgroups that of a warp that copies nothing
  std::optional<model::InstructionMix> warp;  ///< all; nothing of warpgroups, whose warps have different parts to play
};

/// The clocks that a card holds under a launch, and what the energy goes to.
struct Power {
  model::HeldClock burst, sustained;     ///< after a rest; launch after launch
  double limit_w = 0;                    ///< of the latter
  std::map<std::string, double> joules;  ///< of a launch among many, by name of a thing (model/energy.hpp)
  double idle_joules = 0;                ///< of the card meanwhile
  bool own = false;                      ///< the constants are the card's own
};

struct Explanation {
  Question question;           ///< of the kernel that runs
  const KernelEntry* instead;  ///< the one that was asked for, if that does not take the problem; otherwise null
  std::string why;             ///< the refusal
  Observation observation;
  double flop = 0, compulsory_bytes = 0, intensity = 0;
  LeastTime least;
  std::vector<MatrixTraffic> matrices;
  std::vector<OperandReads> operand_reads;  ///< of A and B
  std::vector<SharedTraffic> shared;
  SharedLoads shared_loads;

  std::optional<model::CompiledKernel> compiled;
  bool stale = false;                             ///< it was recorded from another version of the source
  std::vector<CompiledAccess> compiled_accesses;  ///< by file and line
  std::optional<model::AddressWork> addresses;
  std::optional<Executed> executed;  ///< nothing if the problem takes another path than the one on record
  std::optional<model::Occupancy> occupancy;
  double l1_hit = 0, l2_hit = 0;
  /// By the order in which blocks go through tiles, of kernels that stage tiles; as many blocks at a time as fit.
  std::optional<model::RasterTraffic> traffic;
  std::optional<model::KernelProgram> program;
  std::optional<model::TimePrediction> time;
  std::string no_time;  ///< why there is no prediction
  bool own_calibration = false;
  bool documented_rates = false;  ///< the rates of tensor cores are not measured, but from texts
  /// What the card's limits make of it, where its power has been calibrated: `time` is that of a burst.
  std::optional<Power> power;
  std::vector<CounterComparison> counters;  ///< those that were read of this launch
  std::vector<Stall> stalls;                ///< read with them, the longest first
  std::optional<double> measured_seconds;   ///< a burst with beta = 0, on such a card
};

/// Steps along K whose tiles of A and B the bytes on their way to a block make up at most: the stages of a pipeline
/// that are being filled.
double steps_in_flight(const Explanation& e);

/// That no source states at what rate a card multiplies by mma.sync.
std::string unknown_rate_text(const Peak& peak, const model::Gpu& gpu);

/// Whether the launch takes the path of which the machine code was recorded.
bool takes_recorded_path(const Explanation& e);

}  // namespace lapidary::lens
