// Each sentence that the emulated machine says of a fault, word by word. In each row all numbers, names and lines
// differ, so that two that change places show.
#include "emulator/fault.hpp"
#include "emulator/arena.hpp"
#include "emulator/lines.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "emulator/copy_engine.hpp"

namespace lapidary::emulator {
namespace {

using enum FaultKind;

// A new alternative wants a row, and this number.
static_assert(std::variant_size_v<FaultFacts> == 65);
static_assert(std::variant_size_v<Wait> == 10);

struct Sentence {
  FaultFacts facts;
  FaultKind kind;
  std::string text;  ///< without the block and the kernel
};

struct WaitSentence {
  Wait wait;
  std::string text;
};

Fault fault_of(FaultFacts facts) { return {std::move(facts), "sgemm", {4, 5, 6}}; }

void expect(const std::vector<Sentence>& sentences, const NameShared& name = {}) {
  for (const auto& [facts, kind, text] : sentences) {
    const Fault fault = fault_of(facts);
    EXPECT_EQ(to_text(fault, name), text + "\n  in block (4, 5, 6) of kernel sgemm");
    EXPECT_EQ(fault.kind(), kind) << text;
  }
}

MemoryPlace in_global(std::int64_t offset) { return {MemoryPlace::Space::global, "A", offset, 4096}; }
MemoryPlace in_no_allocation() { return {MemoryPlace::Space::global}; }
MemoryPlace in_shared(std::int64_t offset) { return {MemoryPlace::Space::shared, {}, offset, 1024}; }
MemoryPlace in_variable() { return {MemoryPlace::Space::variable, {}, 48, 1024}; }

FaultyAccess global(Access access, unsigned bytes, std::int64_t offset) { return {access, bytes, in_global(offset)}; }
FaultyAccess shared(Access access, unsigned bytes, std::int64_t offset) { return {access, bytes, in_shared(offset)}; }

const SourceLine tile_line{"tile.cuh", 7}, copy_line{"copy.cuh", 9};
const MbarrierPlace full_barrier{64, SourceLine{"ring.cuh", 21}}, invalid_barrier{72};
constexpr MbarrierState state{3, 1, 2, 512};

const RaceFound::Side writes{RaceFound::Who::thread, {1, 2, 3}, std::nullopt, true, tile_line},
    reads{RaceFound::Who::thread, {7, 8, 9}, std::nullopt, false, copy_line};

std::vector<Sentence> rules() {
  return {
      {RuleBroken{Rule::async_copy_target}, out_of_bounds, "cp.async writes to an address that is not shared"},
      {RuleBroken{Rule::mbarrier_init_target}, out_of_bounds,
       "mbarrier.init of an address that is not in the block's shared memory"},
      {RuleBroken{Rule::mbarrier_inval_of_other_block}, misuse, "mbarrier.inval of an mbarrier of another block"},
      {RuleBroken{Rule::map_source}, out_of_bounds,
       "an address is mapped to another block of the cluster that is not in this block's dynamic shared memory"},
      {RuleBroken{Rule::cluster_arrive_twice}, misuse,
       "barrier.cluster.arrive by a thread that has not waited since it arrived last"},
      {RuleBroken{Rule::cluster_wait_first}, misuse, "barrier.cluster.wait by a thread that has not arrived"},
      {RuleBroken{Rule::copy_outlives_block}, in_flight,
       "a block exits, and none of its threads has waited for this bulk copy to its shared memory"},
      {RuleBroken{Rule::access_outlives_block}, exited,
       "a block of the cluster exits, and nothing orders that after this access to its shared memory; a barrier of the "
       "cluster would"},
      {RuleBroken{Rule::first_wgmma_fence}, misuse,
       "wgmma.mma_async without a wgmma.fence before the warp's first one"},
      {RuleBroken{Rule::wgmma_at_exit}, in_flight, "a thread exits without having waited for this wgmma.mma_async"},
      {RuleBroken{Rule::variable_in_cluster}, misuse,
       "a __shared__ variable in a kernel that is launched with clusters, whose blocks have dynamic shared memory "
       "alone on the emulated machine; see shared_storage()"},
      {RuleBroken{Rule::atomic_target}, out_of_bounds, "atomic access to memory that is neither global nor shared"},
      {RuleBroken{Rule::shared_address}, out_of_bounds, "an address that is not shared is used as one"},
      {RuleBroken{Rule::tensor_map}, misuse,
       "a bulk copy is given a tensor map that tensor_map() has not made for this machine"},
      {RuleBroken{Rule::reduction_type}, misuse,
       "cp.reduce.async.bulk.tensor adds integers of 8 or 16 bits, or signed ones of 64; 32 bits, u64 and "
       "floating-point types are legal"},
      {RuleBroken{Rule::matrix_target}, out_of_bounds, "ldmatrix or stmatrix of memory that is not shared"},
      {RuleBroken{Rule::division}, misuse,
       "an integer is divided by zero, or the smallest one by -1: the result is undefined, on a GPU any number"},
  };
}

std::vector<Sentence> accesses() {
  return {
      {OutOfBounds{global(Access::global_load, 16, 4100)}, out_of_bounds,
       "out-of-bounds global load of 16 bytes: byte 4100 of A, which has 4096"},
      {OutOfBounds{global(Access::global_load, 4, -12)}, out_of_bounds,
       "out-of-bounds global load of 4 bytes: 12 bytes before A"},
      {OutOfBounds{{Access::bulk_store, 8, in_no_allocation()}}, out_of_bounds,
       "out-of-bounds global store of 8 bytes: no allocation is near"},
      {OutOfBounds{shared(Access::shared_store, 4, -2)}, out_of_bounds,
       "out-of-bounds shared store of 4 bytes at offset -2 of the block's 1024 bytes of dynamic shared memory"},
      {Misaligned{Access::async_copy, 16, 0x71234, 8}, misaligned,
       "misaligned global load of 16 bytes: the address ends in 0x34 and must be a multiple of 8"},
      {Misaligned{Access::cluster_atomic, 8, 0x71232, 4}, misaligned,
       "misaligned shared atomic access of 8 bytes: the address ends in 0x32 and must be a multiple of 4"},
      {BeforeGridWait{global(Access::global_atomic, 2, 100)}, misuse,
       "global atomic access of 2 bytes without a griddepcontrol.wait before: the kernel in front of this one may still "
       "be running"},
      {MbarrierAccessed{shared(Access::cluster_store, 8, 40)}, misuse,
       "shared store of 8 bytes at offset 40, which is of an mbarrier that has not been invalidated"},
      {ReadBeforeWrite{shared(Access::shared_atomic, 4, 256)}, uninitialised,
       "shared atomic access of 4 bytes at offset 256 that no thread of this block has written"},
      {ReadBeforeWrite{{Access::shared_load, 16, in_variable()}}, uninitialised,
       "shared load of 16 bytes in a __shared__ variable that no thread of this block has written"},
      {DuringAsyncCopy{shared(Access::async_issue, 16, 32)}, in_flight,
       "asynchronous shared store of 16 bytes at offset 32, which a cp.async that nobody has waited for is writing"},
      {DuringBulkCopy{shared(Access::shared_load, 4, 260), BulkKind::load, copy_line}, in_flight,
       "shared load of 4 bytes at offset 260, which a bulk load that nobody has waited for is writing: the one at "
       "copy.cuh:9"},
      {DuringBulkCopy{shared(Access::shared_store, 4, 260), BulkKind::store, copy_line}, in_flight,
       "shared store of 4 bytes at offset 260, which a bulk store that nobody has waited for is reading: the one at "
       "copy.cuh:9"},
      {DuringBulkCopy{shared(Access::shared_store, 4, 260), BulkKind::add, {}}, in_flight,
       "shared store of 4 bytes at offset 260, which a bulk reduction that nobody has waited for is reading: the one at "
       "unknown line"},
      {DuringWgmma{shared(Access::shared_store, 16, 128), tile_line}, in_flight,
       "shared store of 16 bytes at offset 128, which a wgmma.mma_async reads that not all warps have waited for: the "
       "one at tile.cuh:7"},
      {HostAccess{.store = false, .null = true}, out_of_bounds, "load through a null pointer"},
      {HostAccess{.store = true, .null = true}, out_of_bounds, "store through a null pointer"},
      {HostAccess{.store = false, .null = false}, out_of_bounds,
       "load from memory of the host, which a kernel cannot reach"},
      {HostAccess{.store = true, .null = false}, out_of_bounds,
       "store to memory of the host, which a kernel cannot reach"},
      {ExitedBlockAccess{3}, exited, "access to shared memory of block 3 of the cluster, which has exited"},
      {BlockNotBegun{3}, race,
       "access to shared memory of block 3 of the cluster, and nothing orders it after that block's beginning; a "
       "barrier of the cluster would"},
      {FenceMissing{BulkKind::load, {1, 2, 3}, tile_line}, proxy,
       "a bulk load overwrites shared memory that thread (1, 2, 3) has written at tile.cuh:7, without "
       "fence.proxy.async by that thread between its write and the barrier"},
      {FenceMissing{BulkKind::store, {1, 2, 3}, tile_line}, proxy,
       "a bulk store reads shared memory that thread (1, 2, 3) has written at tile.cuh:7, without fence.proxy.async by "
       "that thread between its write and the barrier"},
      {FenceMissing{std::nullopt, {1, 2, 3}, std::nullopt}, proxy,
       "wgmma.mma_async reads shared memory that thread (1, 2, 3) has written, without fence.proxy.async by that thread "
       "between its write and the barrier"},
      {EndlessLoop{.seconds = 1.5, .cluster = true}, endless,
       "endless loop: the threads of the cluster have taken 1.5 s without coming to their end"},
      {EndlessLoop{.seconds = 2, .cluster = false}, endless,
       "endless loop: the threads of the block have taken 2 s without coming to their end"},
      {OutOfBounds{global(Access::global_load, 4, 44), true}, out_of_bounds,
       "out-of-bounds global load of 4 bytes: byte 44 of A, where a line of the matrix has ended"},
      {WrittenReadOnly{16, "B", tile_line}, misuse,
       "__ldg of 16 bytes of B that this kernel has written at tile.cuh:7: it reads by a cache that does not look for "
       "what is written"},
      {WrittenReadOnly{4, std::nullopt, std::nullopt}, misuse,
       "__ldg of 4 bytes that this kernel has written: it reads by a cache that does not look for what is written"},
      {StackFull{4096}, misuse,
       "a thread needs more than 4096 bytes for its calls and local variables: a recursion without end?"},
      {Trapped{}, misuse, "__trap() ends the kernel"},
      {AssertionFailed{"k < K"}, misuse, "assert(k < K) is false"},
  };
}

std::vector<Sentence> races() {
  return {
      {RaceFound{in_shared(256), writes, reads, false}, race,
       "race on shared memory at offset 256: nothing orders these two accesses to one word\n"
       "  thread (1, 2, 3) writes it at tile.cuh:7\n"
       "  thread (7, 8, 9) reads it at copy.cuh:9"},
      {RaceFound{in_variable(), reads, writes, false}, race,
       "race on shared memory in a __shared__ variable: nothing orders these two accesses to one word\n"
       "  thread (7, 8, 9) reads it at copy.cuh:9\n"
       "  thread (1, 2, 3) writes it at tile.cuh:7"},
      {RaceFound{in_global(12), writes, reads, true}, race,
       "race on global memory, byte 12 of A: nothing orders these two accesses to one word\n"
       "  thread (1, 2, 3) writes it at tile.cuh:7 in another block\n"
       "  thread (7, 8, 9) reads it at copy.cuh:9"},
      {RaceFound{in_variable(), {RaceFound::Who::lanes, {32, 0, 0}, std::nullopt, true, tile_line}, reads, false}, race,
       "race on shared memory in a __shared__ variable: nothing orders these two accesses to one word\n"
       "  several lanes of the warp of thread (32, 0, 0) write it at tile.cuh:7\n"
       "  thread (7, 8, 9) reads it at copy.cuh:9"},
      {RaceFound{in_no_allocation(),
                 {RaceFound::Who::bulk_copy, {1, 2, 3}, abi::Index3{10, 11, 12}, true, std::nullopt},
                 {RaceFound::Who::wgmma, {7, 8, 9}, abi::Index3{13, 14, 15}, false, std::nullopt},
                 false},
       race,
       "race on global memory: nothing orders these two accesses to one word\n"
       "  a bulk copy of thread (1, 2, 3) of block (10, 11, 12) writes it\n"
       "  a wgmma of thread (7, 8, 9) of block (13, 14, 15) reads it"},
  };
}

std::vector<Sentence> barriers() {
  return {
      {BarrierNumber{16}, misuse, "barrier 16: a block has barriers 0 to 15"},
      {BarrierThreads{2, 48, false}, misuse, "barrier 2 for 48 threads: must be a multiple of 32"},
      {BarrierThreads{2, 0, true}, misuse, "barrier 2 for 0 threads: must be a multiple of 32, and not 0"},
      {BarrierExpects{.barrier = 1, .expected = 64, .threads = 96}, misuse, "barrier 1 expects 64 threads, here 96"},
      {BarriersDiffer{.warp = 1, .other = 2, .lane = 3, .other_at = tile_line}, divergence,
       "lanes 2 and 3 of warp 1 are at different barriers: lane 2 is at tile.cuh:7"},
      {LaneNotInMask{5, 0xff00}, divergence, "lane 5 calls a warp collective whose mask 0x0000ff00 leaves it out"},
      {CollectivesDiffer{.warp = 1, .lane = 2, .lane_at = tile_line}, divergence,
       "lanes of warp 1 are at different collectives: lane 2 is at tile.cuh:7"},
      {PartOfWarp{.warp = 3, .lanes = 17}, divergence,
       "warp 3 has 17 of 32 lanes at an instruction that takes all of them"},
      {ShuffleWidth{12}, misuse, "shuffle of width 12: 1, 2, 4, 8, 16 or 32 are legal"},
      {ShuffleSource{.warp = 1, .lane = 2, .source = 30}, divergence,
       "lane 2 of warp 1 shuffles from lane 30, which does not take part"},
      {RegisterCount{25}, misuse, "setmaxnreg to 25 registers; multiples of 8 from 24 to 256 are legal"},
      {RegisterDirection{.increase = true, .wanted = 40, .registers = 168}, misuse,
       "setmaxnreg.inc to 40 registers by a warp whose threads have 168"},
      {RegisterDirection{.increase = false, .wanted = 240, .registers = 168}, misuse,
       "setmaxnreg.dec to 240 registers by a warp whose threads have 168"},
  };
}

std::vector<Sentence> mbarriers() {
  using enum MbarrierRefuses::Why;
  return {
      {InstructionTarget{"mbarrier.arrive"}, out_of_bounds, "mbarrier.arrive of an address that is not shared"},
      {MbarrierOfExited{"mbarrier.arrive", 2}, exited,
       "mbarrier.arrive of an mbarrier of block 2 of the cluster, which has exited"},
      {MbarrierMissing{"mbarrier.arrive", 64}, misuse,
       "mbarrier.arrive at offset 64, where no mbarrier has been initialised"},
      {MbarrierOverwritten{"mbarrier.arrive", full_barrier}, misuse,
       "mbarrier.arrive of the mbarrier at offset 64 (initialised at ring.cuh:21), whose 64 bits something else has "
       "written to"},
      {MbarrierMisaligned{0x71234}, misaligned,
       "mbarrier.init of an address that ends in 0x34; it must be a multiple of 8"},
      {MbarrierArrivals{0}, misuse, "mbarrier.init for 0 arrivals; 1 to 1048575 are legal"},
      {MbarrierLive{full_barrier}, misuse,
       "mbarrier.init of the mbarrier at offset 64 (initialised at ring.cuh:21), which is live: mbarrier.inval comes "
       "first"},
      {MbarrierAwaited{full_barrier}, misuse,
       "mbarrier.inval of the mbarrier at offset 64 (initialised at ring.cuh:21), which threads wait for"},
      {MbarrierRefuses{arrivals_at_once, 1 << 20, state, full_barrier}, misuse,
       "an mbarrier counts 1048576 arrivals at once; 1 to 1048575 are legal, at the mbarrier at offset 64 (initialised "
       "at ring.cuh:21)"},
      {MbarrierRefuses{surplus_arrivals, 1, state, invalid_barrier}, misuse,
       "an mbarrier gets 1 arrival more than the phase waits for: phase 3 has 1 of 2 arrivals and 512 bytes pending, at "
       "the mbarrier at offset 72"},
      {MbarrierRefuses{surplus_arrivals, 4, state}, misuse,
       "an mbarrier gets 4 arrivals more than the phase waits for: phase 3 has 1 of 2 arrivals and 512 bytes pending"},
      {MbarrierRefuses{bytes, -1048576, state}, misuse,
       "an mbarrier has -1048576 bytes pending; -1048575 to 1048575 are legal"},
      {MbarrierOfOtherBlock{"mbarrier.try_wait"}, misuse,
       "mbarrier.try_wait for an mbarrier of another block of the cluster"},
      {MbarrierParity{"mbarrier.try_wait", 2}, misuse, "mbarrier.try_wait for parity 2; 0 and 1 are legal"},
      {MbarrierPendingAtExit{state}, misuse,
       "a block exits while an mbarrier has bytes pending: phase 3 has 1 of 2 arrivals and 512 bytes pending"},
  };
}

std::vector<Sentence> copies() {
  return {
      {AsyncCopyBytes{12}, misuse, "cp.async of 12 bytes: 4, 8 or 16 are legal"},
      {AsyncCopySource{.source_bytes = 12, .bytes = 8}, misuse, "cp.async reads 12 bytes to write 8"},
      {Multicast{.targets = 0x1e, .blocks = 4}, misuse, "multicast to the blocks 0x001e of a cluster that has 4"},
      {MbarrierNotFenced{full_barrier}, misuse,
       "a bulk copy to the mbarrier at offset 64 (initialised at ring.cuh:21), with no fence.mbarrier_init ordered "
       "between the two"},
      {MbarrierGone{BulkKind::load}, misuse, "a bulk load ends at an mbarrier that has been invalidated"},
      {BulkCopyAtExit{BulkKind::load}, in_flight,
       "a block exits while a bulk load that nobody has waited for writes its shared memory"},
      {BulkCopyAtExit{BulkKind::add}, in_flight,
       "a block exits while a bulk reduction that nobody has waited for reads its shared memory"},
      {BulkCopyBytes{24}, misuse, "cp.async.bulk of 24 bytes: multiples of 16 are legal"},
      {BulkCopyTarget{8192}, out_of_bounds,
       "a bulk copy of 8192 bytes at an address that is not in the block's dynamic shared memory, or reaches beyond it"},
      {BulkCopyMisaligned{true, 0x71234, 16}, misaligned,
       "cp.async.bulk at a global address that ends in 0x34; it must be a multiple of 16"},
      {BulkCopyMisaligned{false, 0x71234, 128}, misaligned,
       "a bulk copy at a shared address that ends in 0x234; it must be a multiple of 128"},
      {BoxMisaligned{.element = 5, .beyond = 10}, misaligned,
       "a box begins at element 5 of mode 0, 10 bytes beyond a multiple of 16"},
      {BoxBeforeTensor{.coordinate = -8, .mode = 1}, misuse,
       "a bulk store to a box that begins before the tensor, at -8 of mode 1: an H200 takes it for an illegal "
       "instruction"},
      {MapRank{.rank = 5, .blocks = 4}, misuse, "mapa to block 5 of a cluster that has 4"},
  };
}

std::vector<Sentence> tensor_cores() {
  return {
      {RegisterInUse{.write = true, .accumulator = false, .issued = tile_line}, in_flight,
       "a register is written that a wgmma.mma_async which nobody has waited for reads: the one at tile.cuh:7"},
      {RegisterInUse{.write = false, .accumulator = true, .issued = tile_line}, in_flight,
       "a register is read that a wgmma.mma_async which nobody has waited for adds to: the one at tile.cuh:7"},
      {WgmmaFenceMissing{true, tile_line}, misuse,
       "wgmma.mma_async without a wgmma.fence since other code has touched its accumulators, at tile.cuh:7"},
      {WgmmaFenceMissing{false, tile_line}, misuse,
       "wgmma.mma_async without a wgmma.fence since other code has touched the registers of A, at tile.cuh:7"},
      {NoWarpgroup{.warp = 4, .warps = 6}, divergence,
       "warp 4 is in no warpgroup: those are four warps each, and the block has 6"},
      {WarpgroupDiffers{tile_line}, divergence,
       "the warps of a warpgroup execute different instructions that take all four: another one is at tile.cuh:7"},
      {WgmmaOperandsDiffer{.operands = "descriptors of A", .warp = 2, .mine = 0x40, .others = 0x80}, divergence,
       "the threads of a warpgroup give wgmma.mma_async different descriptors of A: warp 2 has 0x40, others 0x80"},
      {WgmmaDescriptor{0x4000000000010020, 'B', "the base is odd"}, misaligned,
       "wgmma.mma_async with the descriptor 0x4000000000010020 of B: the base is odd"},
      {WgmmaDescriptor{0x20, 'A', "the base is odd"}, misaligned,
       "wgmma.mma_async with the descriptor 0x0000000000000020 of A: the base is odd"},
      {WgmmaBeyondShared{.operand = 'B', .row = 8, .col = 63, .address = 0x3a000}, out_of_bounds,
       "wgmma.mma_async reads element (8, 63) of B at address 0x3a000, beyond shared memory"},
      {WgmmaShapesDiffer{tile_line}, misuse,
       "wgmma.mma_async adds to registers of one of another shape that nobody has waited for: the one at tile.cuh:7"},
      {WarpgroupMissed{3}, divergence,
       "warp 3 exits without having executed this instruction, which takes all four of its warpgroup"},
      {WmmaPitch{.ld = 20, .multiple = 8}, misuse,
       "WMMA: the leading dimension is 20; it must be a multiple of 8 elements, 16 bytes"},
  };
}

std::vector<WaitSentence> waits() {
  return {
      {std::monostate{}, "for nothing"},
      {BarrierWait{.barrier = 1, .arrived = 32, .expected = 64}, "at barrier 1, 32 of 64 threads there"},
      {CollectiveWait{.warp = 2, .arrived = 0xf, .mask = 0xffff},
       "at a collective of warp 2, lanes 0x0000000f of 0x0000ffff there"},
      {MbarrierWait{0, full_barrier, state},
       "for parity 0 of the mbarrier at offset 64 (initialised at ring.cuh:21): phase 3 has 1 of 2 arrivals and 512 "
       "bytes pending"},
      {InvalidMbarrierWait{}, "for an mbarrier that has been invalidated"},
      {ClusterWait{.arrived = 96, .live = 128}, "for the barrier of the cluster, 96 of 128 threads there"},
      {BulkGroupWait{}, "for a bulk group"},
      {WgmmaWait{tile_line, {5, 7}}, "for the wgmma.mma_async at tile.cuh:7, to which these warps have not come: 5 7"},
      {RegisterWait{.registers = 168, .wanted = 240, .free = 512},
       "for registers: setmaxnreg from 168 to 240 for a warp takes 2304, and 512 of the block are free"},
      {SpinWait{}, "for a word to change, which it reads over and over"},
  };
}

TEST(FaultTexts, OfRules) { expect(rules()); }
TEST(FaultTexts, OfAccesses) { expect(accesses()); }
TEST(FaultTexts, OfRaces) { expect(races()); }
TEST(FaultTexts, OfBarriersAndCollectives) { expect(barriers()); }
TEST(FaultTexts, OfMbarriers) { expect(mbarriers()); }
TEST(FaultTexts, OfCopies) { expect(copies()); }
TEST(FaultTexts, OfTensorCores) { expect(tensor_cores()); }

TEST(FaultTexts, OfWhatThreadsWaitFor) {
  for (const auto& [wait, text] : waits()) {
    const Fault fault = fault_of(Deadlock{{{{1, 2, 3}, {{7, copy_line, wait}}, {}}}, false});
    EXPECT_EQ(to_text(fault), "deadlock: no thread can go on\n  thread 7 waits at copy.cuh:9: " + text +
                                  "\n  in block (1, 2, 3) of kernel sgemm");
    EXPECT_EQ(fault.kind(), deadlock);
  }
}

TEST(FaultTexts, OfDeadlocksHaveARowForEachLineAndReason) {
  const BarrierWait barrier{1, 32, 64};
  const Deadlock::Block first{{1, 2, 3},
                              {{0, tile_line, barrier},
                               {1, tile_line, barrier},
                               {2, tile_line, barrier},
                               {3, tile_line, BulkGroupWait{}},
                               {5, copy_line, barrier},
                               {8, tile_line, barrier}},
                              {4, 6, 7}},
      second{{7, 8, 9}, {{0, {}, BulkGroupWait{}}}, {31}};
  EXPECT_EQ(to_text(fault_of(Deadlock{{first, second}, true})),
            "deadlock: no thread of the cluster can go on\n"
            "  thread 5 waits at copy.cuh:9: at barrier 1, 32 of 64 threads there\n"
            "  threads 4, 6-7 have exited\n"
            "  threads 0-2, 8 wait at tile.cuh:7: at barrier 1, 32 of 64 threads there\n"
            "  thread 3 waits at tile.cuh:7: for a bulk group\n"
            "  in block (1, 2, 3) of kernel sgemm\n"
            "  thread 31 has exited\n"
            "  thread 0 waits at unknown line: for a bulk group\n"
            "  in block (7, 8, 9) of kernel sgemm");
}

TEST(FaultTexts, AreThereForEachAlternative) {
  std::set<std::size_t> facts{fault_of(Deadlock{}).facts.index()}, reasons;
  for (const auto& table : {rules(), accesses(), races(), barriers(), mbarriers(), copies(), tensor_cores()})
    for (const Sentence& sentence : table) facts.insert(sentence.facts.index());
  for (const WaitSentence& sentence : waits()) reasons.insert(sentence.wait.index());
  EXPECT_EQ(facts.size(), std::variant_size_v<FaultFacts>);
  EXPECT_EQ(reasons.size(), std::variant_size_v<Wait>);
}

TEST(FaultTexts, NameSharedMemoryAsTheyAreTold) {
  const auto name = [](std::int64_t offset) { return fmt::format("sA[{}]", offset / 4); };
  expect(
      {
          {OutOfBounds{shared(Access::shared_load, 4, 1032)}, out_of_bounds,
           "out-of-bounds shared load of 4 bytes at sA[258]"},
          {OutOfBounds{global(Access::global_load, 16, 4100)}, out_of_bounds,
           "out-of-bounds global load of 16 bytes: byte 4100 of A, which has 4096"},
          {ReadBeforeWrite{shared(Access::shared_load, 4, 256)}, uninitialised,
           "shared load of 4 bytes at sA[64] that no thread of this block has written"},
          {ReadBeforeWrite{{Access::shared_load, 4, in_variable()}}, uninitialised,
           "shared load of 4 bytes in a __shared__ variable that no thread of this block has written"},
          {RaceFound{in_shared(256), writes, reads, false}, race,
           "race on shared memory at sA[64]: nothing orders these two accesses to one word\n"
           "  thread (1, 2, 3) writes it at tile.cuh:7\n"
           "  thread (7, 8, 9) reads it at copy.cuh:9"},
          {MbarrierMissing{"mbarrier.arrive", 72}, misuse,
           "mbarrier.arrive at sA[18], where no mbarrier has been initialised"},
          {MbarrierLive{full_barrier}, misuse,
           "mbarrier.init of the mbarrier at sA[16] (initialised at ring.cuh:21), which is live: mbarrier.inval comes "
           "first"},
      },
      name);
}

TEST(FaultTexts, SayWhereAndByWhom) {
  const auto text = [](std::optional<abi::Index3> thread, std::optional<SourceLine> line) {
    return to_text({AssertionFailed{"k < K"}, "sgemm", {4, 5, 6}, thread, std::move(line)});
  };
  const abi::Index3 thread{1, 2, 3};
  EXPECT_EQ(text(thread, tile_line),
            "assert(k < K) is false\n  at tile.cuh:7\n  in block (4, 5, 6), thread (1, 2, 3) of kernel sgemm");
  EXPECT_EQ(text({}, tile_line), "assert(k < K) is false\n  at tile.cuh:7\n  in block (4, 5, 6) of kernel sgemm");
  EXPECT_EQ(text({}, SourceLine{"src/tile/copy.hpp", 9, "tile.cuh:7"}),
            "assert(k < K) is false\n  at src/tile/copy.hpp:9, called at tile.cuh:7\n  in block (4, 5, 6) of kernel "
            "sgemm");
  EXPECT_EQ(text({}, SourceLine{}), "assert(k < K) is false\n  at unknown line\n  in block (4, 5, 6) of kernel sgemm");
  EXPECT_EQ(text(thread, {}), "assert(k < K) is false\n  in block (4, 5, 6), thread (1, 2, 3) of kernel sgemm");
}

TEST(FaultTexts, AreWhatTheErrorSays) {
  const Fault fault{ExitedBlockAccess{3}, "sgemm", {4, 5, 6}, abi::Index3{1, 2, 3}, tile_line};
  const DetailedFault error(fault);
  EXPECT_EQ(error.what(), to_text(fault));
  EXPECT_EQ(error.kind(), exited);
  EXPECT_EQ(std::get<ExitedBlockAccess>(error.fault().facts).rank, 3u);
}

TEST(Arena, LaysAllocationsFarApartAndCloserWhereThereIsNoRoom) {
  Arena arena;
  const auto allocate = [&](std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(arena.allocate(bytes, "x", bytes));
  };
  const std::size_t gap = arena.bytes() / 1024;
  const std::uintptr_t first = allocate(100), second = allocate(5000), third = allocate(1);
  EXPECT_GE(second, first + 100 + gap);
  EXPECT_GE(third, second + 5000 + gap);
  EXPECT_EQ(arena.nearest(first + 100 + gap / 4)->base, first);
  EXPECT_EQ(arena.nearest(second - gap / 4)->base, second);
  arena.free(reinterpret_cast<void*>(second));
  EXPECT_EQ(allocate(4000), second) << "it has the same place and gaps";
  for (int i = 0; i < 1100; ++i) EXPECT_EQ(allocate(100) % 256, 0U);
  std::uintptr_t end = 0;
  for (const auto& [base, allocation] : arena.allocations()) {
    EXPECT_GE(base, end + 256);
    end = allocation.end();
  }
  EXPECT_EQ(arena.allocations().size(), 1103U);
}

TEST(Lines, HoldWhatLiesInThem) {
  constexpr Lines apart = {.front = 8, .length = 12, .pitch = 16};
  EXPECT_TRUE(apart.hold(8, 4) && apart.hold(16, 4) && apart.hold(24, 12));
  EXPECT_FALSE(apart.hold(0, 4) || apart.hold(20, 4) || apart.hold(16, 8));
  // A vector may be of two lines that nothing is between, and an allocation need not have any.
  constexpr Lines together = {.front = 0, .length = 12, .pitch = 12};
  EXPECT_TRUE(together.hold(8, 8) && Lines().hold(20, 16));
}

}  // namespace
}  // namespace lapidary::emulator
