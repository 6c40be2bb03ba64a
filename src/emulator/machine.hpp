#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/launch_shape.hpp"
#include "emulator/report.hpp"

namespace lapidary::emulator {

/// A block that is run in place of `weight` blocks like it, itself included.
struct BlockSample {
  std::uint32_t block;  ///< x + grid.x * (y + grid.y * z)
  std::uint64_t weight;
};

/// One access of a warp, as it was counted. Addresses are those of the host, of which device memory has the ones that
/// it was allocated with.
struct ObservedAccess {
  const WarpAccess& access;
  Access kind;
  std::uintptr_t pc;    ///< the instruction; see source_lines() of emulator/symbols.hpp
  std::uint32_t block;  ///< as in BlockSample
  unsigned warp;        ///< lane n is the thread 32 * warp + n of the block
};

/// Counts neighbouring accesses as one wider one, as a compiler merges them: those of one group (a source line, say) by
/// one lane between two barriers that fill an aligned range of `bytes` bytes, or of a half or a quarter of that.
struct Merge {
  unsigned group;
  unsigned bytes;
};

class Arena;

struct Options {
  /// Count memory traffic and arithmetic; needs kernels of the instrumented build.
  bool count = false;
  /// Whether tensor cores compute. If they do not, their results are undefined, which no access may depend on: what is
  /// counted is the same, sooner.
  bool multiply = true;
  /// That kernels whose blocks stay and take tile after tile are told of. Few, so that small problems too have several
  /// tiles for each, and enough for the largest portable cluster.
  int multiprocessors = 8;
  /// Stop at the first fault (see KernelFault); needs kernels of the instrumented build.
  bool check = false;
  /// Host threads that run at a time, each of them one block or cluster; 0 means one for each core.
  unsigned threads = 0;
  /// 0 runs blocks and warps in order and lets asynchronous copies arrive as late as they may; any other value seeds a
  /// random order of blocks, warps and lanes and random arrivals, the same for the same seed on one host thread.
  std::uint64_t seed = 0;
  /// Seconds of a host thread's time that a block or cluster may take. A kernel that takes longer is stopped as one
  /// that never ends, where it is.
  double limit_s = 3600;
  /// Chooses the blocks of a launch that are run, with the others of their clusters; what they count is multiplied by
  /// their weights. The rest of the grid does not run, and its results stay unwritten. Empty: all blocks run.
  std::function<std::vector<BlockSample>(const LaunchShape&)> sample = {};
  /// What a compiler has merged, by the machine instructions of an AccessSite, which stay the same as long as the
  /// program runs. Empty: accesses count as they are written.
  std::unordered_map<std::uintptr_t, Merge> merge = {};
  /// Called with every access that is counted, of each warp in its order, by the host thread that runs the block.
  std::function<void(const ObservedAccess&)> observe = {};
};

/// The body of one CUDA thread: `call(context)` runs the kernel with its arguments.
struct ThreadBody {
  void (*call)(const void* context);
  const void* context;
  const void* kernel = nullptr;  ///< its function, if the launch bounds of that are to be kept
};

/// A GPU on the CPU. Every CUDA thread is a fiber; the threads of a block or a cluster run on one host thread,
/// others in parallel over the host's cores. Launches are synchronous; those of several host threads follow each other,
/// and while there may be one, nothing of it but turn() and companion() is to be called.
class Machine {
 public:
  explicit Machine(const Options& options = {});
  ~Machine();
  Machine(const Machine&) = delete;  // nor moved: streams and the companion know it by its address
  Machine& operator=(const Machine&) = delete;

  /// Runs a grid to its end.
  /// @throws InvalidArgument if the shape breaks a limit of the machine
  /// @throws KernelFault if the kernel deadlocks or, with `check`, does anything that is not allowed
  void run(const LaunchShape& shape, ThreadBody body);

  /// What all launches since construction or the last `clear_report` counted; needs `count`.
  Report report() const;
  void clear_report();

  const Options& options() const;
  /// Its global memory.
  Arena& memory();
  /// Waits for the launch of another thread to end, and keeps others from beginning: who changes the memory holds it.
  std::unique_lock<std::mutex> turn();

  /// What lives as long as the machine does, such as the context of gemm() on it. For any number of threads.
  /// @param make  makes it; called by the first call alone. It may use the machine until it has ended itself
  void* companion(const std::function<std::shared_ptr<void>()>& make);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lapidary::emulator
