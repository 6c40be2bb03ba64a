#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "emulator/abi.hpp"
#include "emulator/report.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {

enum class BulkKind : std::uint8_t;  // copy_engine.hpp

// ---------------------------------------------------------------------------------------------------- places

/// A byte of memory that kernels can reach.
struct MemoryPlace {
  enum class Space : std::uint8_t {
    global,
    shared,    ///< dynamic shared memory of a block
    variable,  ///< __shared__, of which names and places are not known
  };

  Space space{};
  std::optional<std::string> allocation = {};  ///< label of the one that holds the byte or is the nearest to it
  std::int64_t offset = 0;  ///< from the allocation's first byte, negative before it; or from the block's
  std::size_t bytes = 0;    ///< that the allocation, or the block, has
};

/// A load, a store or an atomic access, as one thread makes it; the byte of it that is not as it should be.
struct FaultyAccess {
  Access access{};
  unsigned bytes = 0;
  MemoryPlace at;
};

struct MbarrierState {
  std::uint32_t phase;
  std::int64_t pending, expected, transactions;  ///< arrivals that the phase waits for, of how many; and bytes
};

/// An mbarrier at an offset of a block's dynamic shared memory.
struct MbarrierPlace {
  std::int64_t offset;
  std::optional<SourceLine> initialised = {};  ///< none where it has been invalidated
};

// ---------------------------------------------------------------------------------------------------- facts
//
// What is wrong, one type for each sentence of fault.cpp. Lanes and warps count from 0, in their warp and block.

/// Rules that need no number to say how they are broken.
enum class Rule : std::uint8_t {
  async_copy_target,
  mbarrier_init_target,
  mbarrier_inval_of_other_block,
  map_source,
  cluster_arrive_twice,
  cluster_wait_first,
  copy_outlives_block,
  access_outlives_block,
  first_wgmma_fence,
  wgmma_at_exit,
  variable_in_cluster,
  atomic_target,
  shared_address,
  tensor_map,
  reduction_type,
  matrix_target,
  division,
};
struct RuleBroken {
  Rule rule;
};

// Accesses.
struct OutOfBounds {
  static constexpr FaultKind kind = FaultKind::out_of_bounds;
  FaultyAccess access;
  bool between_lines = false;  ///< of the matrix, in its allocation
};
struct Misaligned {
  static constexpr FaultKind kind = FaultKind::misaligned;
  Access access;
  unsigned bytes;
  std::uintptr_t address;
  unsigned alignment;
};
struct BeforeGridWait {
  static constexpr FaultKind kind = FaultKind::misuse;
  FaultyAccess access;
};
struct MbarrierAccessed {
  static constexpr FaultKind kind = FaultKind::misuse;
  FaultyAccess access;
};
/// By __ldg.
struct WrittenReadOnly {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned bytes;
  std::optional<std::string> allocation;  ///< label of the one that holds them
  std::optional<SourceLine> written;
};
struct ReadBeforeWrite {
  static constexpr FaultKind kind = FaultKind::uninitialised;
  FaultyAccess access;
};
/// ... of a cp.async that writes there.
struct DuringAsyncCopy {
  static constexpr FaultKind kind = FaultKind::in_flight;
  FaultyAccess access;
};
struct DuringBulkCopy {
  static constexpr FaultKind kind = FaultKind::in_flight;
  FaultyAccess access;
  BulkKind copy;
  SourceLine issued;
};
struct DuringWgmma {
  static constexpr FaultKind kind = FaultKind::in_flight;
  FaultyAccess access;
  SourceLine issued;
};
/// Memory that is neither global nor the block's.
struct HostAccess {
  static constexpr FaultKind kind = FaultKind::out_of_bounds;
  bool store, null;
};
struct ExitedBlockAccess {
  static constexpr FaultKind kind = FaultKind::exited;
  unsigned rank;
};
struct BlockNotBegun {
  static constexpr FaultKind kind = FaultKind::race;
  unsigned rank;
};
struct RaceFound {
  static constexpr FaultKind kind = FaultKind::race;
  enum class Who : std::uint8_t { thread, lanes, bulk_copy, wgmma };
  struct Side {
    Who who;
    /// That made the access, or issued what made it; of several lanes the first of their warp, whether it is one of
    /// them or not.
    abi::Index3 thread;
    std::optional<abi::Index3> block;  ///< if it is another one of the cluster
    bool write;
    std::optional<SourceLine> line;
  };
  MemoryPlace at;  ///< of the second access
  Side first, second;
  bool other_cluster;  ///< whether a block of another cluster made the first one
};
struct FenceMissing {
  static constexpr FaultKind kind = FaultKind::proxy;
  std::optional<BulkKind> by;  ///< none: wgmma
  abi::Index3 writer;
  std::optional<SourceLine> written;
};
struct StackFull {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::size_t bytes;
};
/// __trap().
struct Trapped {
  static constexpr FaultKind kind = FaultKind::misuse;
};
struct AssertionFailed {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::string condition;
};

// Barriers and collectives.
struct BarrierNumber {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned barrier;
};
struct BarrierThreads {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned barrier, threads;
  bool arrives;  ///< without waiting
};
struct BarrierExpects {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned barrier, expected, threads;
};
struct BarriersDiffer {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp, other, lane;
  SourceLine other_at;
};
struct LaneNotInMask {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned lane;
  std::uint32_t mask;
};
struct CollectivesDiffer {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp, lane;
  SourceLine lane_at;
};
struct PartOfWarp {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp, lanes;
};
struct ShuffleWidth {
  static constexpr FaultKind kind = FaultKind::misuse;
  int width;
};
struct ShuffleSource {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp, lane;
  int source;
};
struct RegisterCount {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned registers;
};
struct RegisterDirection {
  static constexpr FaultKind kind = FaultKind::misuse;
  bool increase;
  unsigned wanted, registers;
};

// mbarriers.
struct InstructionTarget {
  static constexpr FaultKind kind = FaultKind::out_of_bounds;
  std::string instruction;
};
struct MbarrierOfExited {
  static constexpr FaultKind kind = FaultKind::exited;
  std::string instruction;
  unsigned rank;
};
struct MbarrierMissing {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::string instruction;
  std::int64_t offset;
};
struct MbarrierOverwritten {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::string instruction;
  MbarrierPlace mbarrier;
};
struct MbarrierMisaligned {
  static constexpr FaultKind kind = FaultKind::misaligned;
  std::uintptr_t address;
};
struct MbarrierArrivals {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned arrivals;
};
struct MbarrierLive {
  static constexpr FaultKind kind = FaultKind::misuse;
  MbarrierPlace mbarrier;
};
struct MbarrierAwaited {
  static constexpr FaultKind kind = FaultKind::misuse;
  MbarrierPlace mbarrier;
};
struct MbarrierRefuses {
  static constexpr FaultKind kind = FaultKind::misuse;
  enum class Why : std::uint8_t {
    arrivals_at_once,  ///< `count` is not a number of arrivals
    surplus_arrivals,  ///< there are `count` more than the state waits for
    bytes,             ///< `count` are too many to be pending
  };
  Why why;
  std::int64_t count;
  MbarrierState state;
  std::optional<MbarrierPlace> mbarrier = {};
};
struct MbarrierOfOtherBlock {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::string instruction;
};
struct MbarrierParity {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::string instruction;
  unsigned parity;
};
struct MbarrierPendingAtExit {
  static constexpr FaultKind kind = FaultKind::misuse;
  MbarrierState state;
};

// Copies.
struct AsyncCopyBytes {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned bytes;
};
struct AsyncCopySource {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned source_bytes, bytes;
};
struct Multicast {
  static constexpr FaultKind kind = FaultKind::misuse;
  std::uint32_t targets;
  unsigned blocks;  ///< of the cluster
};
struct MbarrierNotFenced {
  static constexpr FaultKind kind = FaultKind::misuse;
  MbarrierPlace mbarrier;
};
struct MbarrierGone {
  static constexpr FaultKind kind = FaultKind::misuse;
  BulkKind copy;
};
struct BulkCopyAtExit {
  static constexpr FaultKind kind = FaultKind::in_flight;
  BulkKind copy;
};
struct BulkCopyBytes {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned bytes;
};
struct BulkCopyTarget {
  static constexpr FaultKind kind = FaultKind::out_of_bounds;
  std::size_t bytes;
};
struct BulkCopyMisaligned {
  static constexpr FaultKind kind = FaultKind::misaligned;
  bool global;
  std::uintptr_t address;
  unsigned alignment;
};
struct BoxMisaligned {
  static constexpr FaultKind kind = FaultKind::misaligned;
  int element, beyond;
};
struct BoxBeforeTensor {
  static constexpr FaultKind kind = FaultKind::misuse;
  int coordinate, mode;
};
struct MapRank {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned rank, blocks;
};

// Tensor cores.
struct RegisterInUse {
  static constexpr FaultKind kind = FaultKind::in_flight;
  bool write, accumulator;
  SourceLine issued;
};
struct WgmmaFenceMissing {
  static constexpr FaultKind kind = FaultKind::misuse;
  bool accumulator;
  SourceLine touched;
};
struct NoWarpgroup {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp, warps;
};
struct WarpgroupDiffers {
  static constexpr FaultKind kind = FaultKind::divergence;
  SourceLine other;
};
struct WgmmaOperandsDiffer {
  static constexpr FaultKind kind = FaultKind::divergence;
  std::string operands;
  unsigned warp;
  std::uint64_t mine, others;
};
struct WgmmaDescriptor {
  static constexpr FaultKind kind = FaultKind::misaligned;
  std::uint64_t descriptor;
  char operand;
  std::string why;  ///< of misalignment_of(), layout/matrix_descriptor.hpp
};
struct WgmmaBeyondShared {
  static constexpr FaultKind kind = FaultKind::out_of_bounds;
  char operand;
  int row, col;
  std::uint32_t address;
};
struct WgmmaShapesDiffer {
  static constexpr FaultKind kind = FaultKind::misuse;
  SourceLine other;
};
struct WarpgroupMissed {
  static constexpr FaultKind kind = FaultKind::divergence;
  unsigned warp;
};
struct WmmaPitch {
  static constexpr FaultKind kind = FaultKind::misuse;
  unsigned ld, multiple;
};

// What threads wait for.
struct BarrierWait {
  unsigned barrier, arrived, expected;
};
struct CollectiveWait {
  unsigned warp;
  std::uint32_t arrived, mask;
};
struct MbarrierWait {
  unsigned parity;
  MbarrierPlace mbarrier;
  MbarrierState state;
};
struct InvalidMbarrierWait {};
struct ClusterWait {
  std::uint64_t arrived, live;
};
struct BulkGroupWait {};
struct WgmmaWait {
  SourceLine issued;
  std::vector<unsigned> missing;  ///< warps
};
struct RegisterWait {
  unsigned registers, wanted, free;
};
struct SpinWait {};
using Wait = std::variant<std::monostate, BarrierWait, CollectiveWait, MbarrierWait, InvalidMbarrierWait, ClusterWait,
                          BulkGroupWait, WgmmaWait, RegisterWait, SpinWait>;

struct Deadlock {
  static constexpr FaultKind kind = FaultKind::deadlock;
  struct Waiting {
    unsigned thread;  ///< linear index in the block
    SourceLine line;
    Wait what;
  };
  struct Block {
    abi::Index3 index;
    std::vector<Waiting> waiting;  ///< by thread
    std::vector<unsigned> exited;  ///< threads
  };
  std::vector<Block> blocks;  ///< those that have not exited
  bool cluster;               ///< whether there may be several
};

/// Options::limit_s is over.
struct EndlessLoop {
  static constexpr FaultKind kind = FaultKind::endless;
  double seconds;
  bool cluster;  ///< whether there may be several blocks
};

using FaultFacts = std::variant<
    RuleBroken, OutOfBounds, Misaligned, BeforeGridWait, WrittenReadOnly, MbarrierAccessed, ReadBeforeWrite,
    DuringAsyncCopy, DuringBulkCopy, DuringWgmma, HostAccess, ExitedBlockAccess, BlockNotBegun, RaceFound, FenceMissing,
    StackFull, Trapped, AssertionFailed, BarrierNumber, BarrierThreads, BarrierExpects, BarriersDiffer, LaneNotInMask,
    CollectivesDiffer, PartOfWarp, ShuffleWidth, ShuffleSource, RegisterCount, RegisterDirection, InstructionTarget,
    MbarrierOfExited, MbarrierMissing, MbarrierOverwritten, MbarrierMisaligned, MbarrierArrivals, MbarrierLive,
    MbarrierAwaited, MbarrierRefuses, MbarrierOfOtherBlock, MbarrierParity, MbarrierPendingAtExit, AsyncCopyBytes,
    AsyncCopySource, Multicast, MbarrierNotFenced, MbarrierGone, BulkCopyAtExit, BulkCopyBytes, BulkCopyTarget,
    BulkCopyMisaligned, BoxMisaligned, BoxBeforeTensor, MapRank, RegisterInUse, WgmmaFenceMissing, NoWarpgroup,
    WarpgroupDiffers, WgmmaOperandsDiffer, WgmmaDescriptor, WgmmaBeyondShared, WgmmaShapesDiffer, WarpgroupMissed,
    WmmaPitch, Deadlock, EndlessLoop>;

FaultKind kind_of(const FaultFacts& facts);

// ---------------------------------------------------------------------------------------------------- faults

/// Why and where the emulated machine stopped a kernel.
struct Fault {
  FaultFacts facts;
  std::string kernel;
  abi::Index3 block{};
  std::optional<abi::Index3> thread = {};  ///< none where no single one is to blame
  std::optional<SourceLine> line = {};     ///< likewise

  FaultKind kind() const { return kind_of(facts); }
};

/// What stands behind "at" for a byte of a block's dynamic shared memory.
using NameShared = std::function<std::string(std::int64_t offset)>;

/// The first line says what is wrong, the following ones the source line, the block, the thread and the kernel.
/// @param name  if given, for "offset 256" of shared memory
std::string to_text(const Fault& fault, const NameShared& name = {});

/// The KernelFault that the emulated machine throws, with its facts.
class DetailedFault : public KernelFault {
 public:
  explicit DetailedFault(Fault fault) : KernelFault(fault.kind(), to_text(fault)), fault_(std::move(fault)) {}
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace lapidary::emulator
