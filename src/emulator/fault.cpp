// All that the emulated machine says of faults.
#include "emulator/fault.hpp"

#include <fmt/format.h>

#include <map>

#include "emulator/copy_engine.hpp"
#include "emulator/mbarrier.hpp"

namespace lapidary::emulator {
namespace {

struct RuleText {
  FaultKind kind;
  const char* text;
};

RuleText text_of(Rule rule) {
  switch (rule) {
    case Rule::async_copy_target: return {FaultKind::out_of_bounds, "cp.async writes to an address that is not shared"};
    case Rule::mbarrier_init_target:
      return {FaultKind::out_of_bounds, "mbarrier.init of an address that is not in the block's shared memory"};
    case Rule::mbarrier_inval_of_other_block:
      return {FaultKind::misuse, "mbarrier.inval of an mbarrier of another block"};
    case Rule::map_source:
      return {FaultKind::out_of_bounds,
              "an address is mapped to another block of the cluster that is not in this block's dynamic shared memory"};
    case Rule::cluster_arrive_twice:
      return {FaultKind::misuse, "barrier.cluster.arrive by a thread that has not waited since it arrived last"};
    case Rule::cluster_wait_first: return {FaultKind::misuse, "barrier.cluster.wait by a thread that has not arrived"};
    case Rule::copy_outlives_block:
      return {FaultKind::in_flight,
              "a block exits, and none of its threads has waited for this bulk copy to its shared memory"};
    case Rule::access_outlives_block:
      return {FaultKind::exited,
              "a block of the cluster exits, and nothing orders that after this access to its shared memory; a "
              "barrier of the cluster would"};
    case Rule::first_wgmma_fence:
      return {FaultKind::misuse, "wgmma.mma_async without a wgmma.fence before the warp's first one"};
    case Rule::wgmma_at_exit:
      return {FaultKind::in_flight, "a thread exits without having waited for this wgmma.mma_async"};
    case Rule::variable_in_cluster:
      return {FaultKind::misuse,
              "a __shared__ variable in a kernel that is launched with clusters, whose blocks have "
              "dynamic shared memory alone on the emulated machine; see shared_storage()"};
    case Rule::atomic_target:
      return {FaultKind::out_of_bounds, "atomic access to memory that is neither global nor shared"};
    case Rule::shared_address: return {FaultKind::out_of_bounds, "an address that is not shared is used as one"};
    case Rule::tensor_map:
      return {FaultKind::misuse, "a bulk copy is given a tensor map that tensor_map() has not made for this machine"};
    case Rule::reduction_type:
      return {FaultKind::misuse,
              "cp.reduce.async.bulk.tensor adds integers of 8 or 16 bits, or signed ones of 64; 32 bits, u64 and "
              "floating-point types are legal"};
    case Rule::matrix_target: return {FaultKind::out_of_bounds, "ldmatrix or stmatrix of memory that is not shared"};
    case Rule::division:
      return {FaultKind::misuse,
              "an integer is divided by zero, or the smallest one by -1: the result is undefined, on a GPU any number"};
  }
  return {};
}

const char* name_of(BulkKind kind) {
  switch (kind) {
    case BulkKind::load: return "a bulk load";
    case BulkKind::store: return "a bulk store";
    case BulkKind::add: return "a bulk reduction";
  }
  return "a bulk copy";
}

const char* verb_of(Access access) { return is_atomic(access) ? "atomic access" : is_write(access) ? "store" : "load"; }
const char* memory_of(Access access) { return is_global(access) ? "global" : "shared"; }

std::string text_of(const abi::Index3& index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }
std::string at_line(const std::optional<SourceLine>& line) { return line ? " at " + to_string(*line) : ""; }

std::string text_of(const MbarrierState& state) {
  return fmt::format("phase {} has {} of {} arrivals and {} bytes pending", state.phase, state.pending, state.expected,
                     state.transactions);
}

/// "0-31, 40" of ascending numbers.
std::string ranges_of(const std::vector<unsigned>& numbers) {
  std::string ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    ranges += fmt::format("{}{}", ranges.empty() ? "" : ", ", numbers[i]);
    if (last > i) ranges += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return ranges;
}

/// Says facts: the call operator is given what is wrong, or what a thread waits for.
class Words {
 public:
  Words(const Fault& fault, const NameShared& name) : fault_(fault), name_(name) {}

  std::string operator()(const RuleBroken& f) const { return text_of(f.rule).text; }

  // -------------------------------------------------------------------------------------------------- accesses

  std::string operator()(const OutOfBounds& f) const {
    const auto& [access, bytes, at] = f.access;
    if (f.between_lines)
      return fmt::format("out-of-bounds global {} of {} bytes: byte {} of {}, where a line of the matrix has ended",
                         verb_of(access), bytes, at.offset, at.allocation.value_or(""));
    if (at.space != MemoryPlace::Space::global)
      return fmt::format(
          "out-of-bounds {}{}", shared(f.access),
          is_named(at) ? "" : fmt::format(" of the block's {} bytes of dynamic shared memory", at.bytes));
    const std::string where = !at.allocation ? "no allocation is near"
                              : at.offset >= 0
                                  ? fmt::format("byte {} of {}, which has {}", at.offset, *at.allocation, at.bytes)
                                  : fmt::format("{} bytes before {}", -at.offset, *at.allocation);
    return fmt::format("out-of-bounds global {} of {} bytes: {}", verb_of(access), bytes, where);
  }
  std::string operator()(const Misaligned& f) const {
    return fmt::format("misaligned {} {} of {} bytes: the address ends in {:#x} and must be a multiple of {}",
                       memory_of(f.access), verb_of(f.access), f.bytes, f.address % 256, f.alignment);
  }
  std::string operator()(const BeforeGridWait& f) const {
    return fmt::format(
        "global {} of {} bytes without a griddepcontrol.wait before: the kernel in front of this one may "
        "still be running",
        verb_of(f.access.access), f.access.bytes);
  }
  std::string operator()(const WrittenReadOnly& f) const {
    return fmt::format(
        "__ldg of {} bytes{} that this kernel has written{}: it reads by a cache that does not look for what is written",
        f.bytes, f.allocation ? " of " + *f.allocation : "", at_line(f.written));
  }
  std::string operator()(const MbarrierAccessed& f) const {
    return shared(f.access) + ", which is of an mbarrier that has not been invalidated";
  }
  std::string operator()(const ReadBeforeWrite& f) const {
    return shared(f.access) + " that no thread of this block has written";
  }
  std::string operator()(const DuringAsyncCopy& f) const {
    return shared(f.access) + ", which a cp.async that nobody has waited for is writing";
  }
  std::string operator()(const DuringBulkCopy& f) const {
    return fmt::format("{}, which {} that nobody has waited for is {}: the one at {}", shared(f.access),
                       name_of(f.copy), f.copy == BulkKind::load ? "writing" : "reading", to_string(f.issued));
  }
  std::string operator()(const DuringWgmma& f) const {
    return fmt::format("{}, which a wgmma.mma_async reads that not all warps have waited for: the one at {}",
                       shared(f.access), to_string(f.issued));
  }
  std::string operator()(const HostAccess& f) const {
    if (f.null) return fmt::format("{} through a null pointer", f.store ? "store" : "load");
    return fmt::format("{} memory of the host, which a kernel cannot reach", f.store ? "store to" : "load from");
  }
  std::string operator()(const ExitedBlockAccess& f) const {
    return fmt::format("access to shared memory of block {} of the cluster, which has exited", f.rank);
  }
  std::string operator()(const BlockNotBegun& f) const {
    return fmt::format(
        "access to shared memory of block {} of the cluster, and nothing orders it after that block's beginning; a "
        "barrier of the cluster would",
        f.rank);
  }
  std::string operator()(const RaceFound& f) const {
    std::string memory = "global memory";
    if (f.at.space != MemoryPlace::Space::global)
      memory = "shared memory " + place(f.at);
    else if (f.at.allocation)
      memory += fmt::format(", byte {} of {}", f.at.offset, *f.at.allocation);
    return fmt::format("race on {}: nothing orders these two accesses to one word\n  {}{}\n  {}", memory, side(f.first),
                       f.other_cluster ? " in another block" : "", side(f.second));
  }
  std::string operator()(const FenceMissing& f) const {
    return fmt::format(
        "{} {} shared memory that thread {} has written{}, without fence.proxy.async by that "
        "thread between its write and the barrier",
        f.by ? name_of(*f.by) : "wgmma.mma_async", f.by == BulkKind::load ? "overwrites" : "reads", text_of(f.writer),
        at_line(f.written));
  }
  std::string operator()(const StackFull& f) const {
    return fmt::format("a thread needs more than {} bytes for its calls and local variables: a recursion without end?",
                       f.bytes);
  }
  std::string operator()(const Trapped&) const { return "__trap() ends the kernel"; }
  std::string operator()(const AssertionFailed& f) const { return fmt::format("assert({}) is false", f.condition); }

  // -------------------------------------------------------------------------------------------------- barriers

  std::string operator()(const BarrierNumber& f) const {
    return fmt::format("barrier {}: a block has barriers 0 to 15", f.barrier);
  }
  std::string operator()(const BarrierThreads& f) const {
    return fmt::format("barrier {} for {} threads: must be a multiple of 32{}", f.barrier, f.threads,
                       f.arrives ? ", and not 0" : "");
  }
  std::string operator()(const BarrierExpects& f) const {
    return fmt::format("barrier {} expects {} threads, here {}", f.barrier, f.expected, f.threads);
  }
  std::string operator()(const BarriersDiffer& f) const {
    return fmt::format("lanes {0} and {1} of warp {2} are at different barriers: lane {0} is at {3}", f.other, f.lane,
                       f.warp, to_string(f.other_at));
  }
  std::string operator()(const LaneNotInMask& f) const {
    return fmt::format("lane {} calls a warp collective whose mask {:#010x} leaves it out", f.lane, f.mask);
  }
  std::string operator()(const CollectivesDiffer& f) const {
    return fmt::format("lanes of warp {} are at different collectives: lane {} is at {}", f.warp, f.lane,
                       to_string(f.lane_at));
  }
  std::string operator()(const PartOfWarp& f) const {
    return fmt::format("warp {} has {} of 32 lanes at an instruction that takes all of them", f.warp, f.lanes);
  }
  std::string operator()(const ShuffleWidth& f) const {
    return fmt::format("shuffle of width {}: 1, 2, 4, 8, 16 or 32 are legal", f.width);
  }
  std::string operator()(const ShuffleSource& f) const {
    return fmt::format("lane {} of warp {} shuffles from lane {}, which does not take part", f.lane, f.warp, f.source);
  }
  std::string operator()(const RegisterCount& f) const {
    return fmt::format("setmaxnreg to {} registers; multiples of 8 from 24 to 256 are legal", f.registers);
  }
  std::string operator()(const RegisterDirection& f) const {
    return fmt::format("setmaxnreg.{} to {} registers by a warp whose threads have {}", f.increase ? "inc" : "dec",
                       f.wanted, f.registers);
  }

  // -------------------------------------------------------------------------------------------------- mbarriers

  std::string operator()(const InstructionTarget& f) const {
    return fmt::format("{} of an address that is not shared", f.instruction);
  }
  std::string operator()(const MbarrierOfExited& f) const {
    return fmt::format("{} of an mbarrier of block {} of the cluster, which has exited", f.instruction, f.rank);
  }
  std::string operator()(const MbarrierMissing& f) const {
    return fmt::format("{} at {}, where no mbarrier has been initialised", f.instruction, offset(f.offset));
  }
  std::string operator()(const MbarrierOverwritten& f) const {
    return fmt::format("{} of the {}, whose 64 bits something else has written to", f.instruction, place(f.mbarrier));
  }
  std::string operator()(const MbarrierMisaligned& f) const {
    return fmt::format("mbarrier.init of an address that ends in {:#x}; it must be a multiple of 8", f.address % 256);
  }
  std::string operator()(const MbarrierArrivals& f) const {
    return fmt::format("mbarrier.init for {} arrivals; 1 to {} are legal", f.arrivals, Mbarrier::most_arrivals);
  }
  std::string operator()(const MbarrierLive& f) const {
    return fmt::format("mbarrier.init of the {}, which is live: mbarrier.inval comes first", place(f.mbarrier));
  }
  std::string operator()(const MbarrierAwaited& f) const {
    return fmt::format("mbarrier.inval of the {}, which threads wait for", place(f.mbarrier));
  }
  std::string operator()(const MbarrierRefuses& f) const {
    return refusal(f) + (f.mbarrier ? fmt::format(", at the {}", place(*f.mbarrier)) : "");
  }
  std::string operator()(const MbarrierOfOtherBlock& f) const {
    return fmt::format("{} for an mbarrier of another block of the cluster", f.instruction);
  }
  std::string operator()(const MbarrierParity& f) const {
    return fmt::format("{} for parity {}; 0 and 1 are legal", f.instruction, f.parity);
  }
  std::string operator()(const MbarrierPendingAtExit& f) const {
    return fmt::format("a block exits while an mbarrier has bytes pending: {}", text_of(f.state));
  }

  // -------------------------------------------------------------------------------------------------- copies

  std::string operator()(const AsyncCopyBytes& f) const {
    return fmt::format("cp.async of {} bytes: 4, 8 or 16 are legal", f.bytes);
  }
  std::string operator()(const AsyncCopySource& f) const {
    return fmt::format("cp.async reads {} bytes to write {}", f.source_bytes, f.bytes);
  }
  std::string operator()(const Multicast& f) const {
    return fmt::format("multicast to the blocks {:#06x} of a cluster that has {}", f.targets, f.blocks);
  }
  std::string operator()(const MbarrierNotFenced& f) const {
    return fmt::format("a bulk copy to the {}, with no fence.mbarrier_init ordered between the two", place(f.mbarrier));
  }
  std::string operator()(const MbarrierGone& f) const {
    return fmt::format("{} ends at an mbarrier that has been invalidated", name_of(f.copy));
  }
  std::string operator()(const BulkCopyAtExit& f) const {
    return fmt::format("a block exits while {} that nobody has waited for {} its shared memory", name_of(f.copy),
                       f.copy == BulkKind::load ? "writes" : "reads");
  }
  std::string operator()(const BulkCopyBytes& f) const {
    return fmt::format("cp.async.bulk of {} bytes: multiples of 16 are legal", f.bytes);
  }
  std::string operator()(const BulkCopyTarget& f) const {
    return fmt::format(
        "a bulk copy of {} bytes at an address that is not in the block's dynamic shared memory, "
        "or reaches beyond it",
        f.bytes);
  }
  std::string operator()(const BulkCopyMisaligned& f) const {
    if (f.global)
      return fmt::format("cp.async.bulk at a global address that ends in {:#x}; it must be a multiple of {}",
                         f.address % 256, f.alignment);
    return fmt::format("a bulk copy at a shared address that ends in {:#x}; it must be a multiple of {}",
                       f.address % 4096, f.alignment);
  }
  std::string operator()(const BoxMisaligned& f) const {
    return fmt::format("a box begins at element {} of mode 0, {} bytes beyond a multiple of 16", f.element, f.beyond);
  }
  std::string operator()(const BoxBeforeTensor& f) const {
    return fmt::format(
        "a bulk store to a box that begins before the tensor, at {} of mode {}: an H200 takes it "
        "for an illegal instruction",
        f.coordinate, f.mode);
  }
  std::string operator()(const MapRank& f) const {
    return fmt::format("mapa to block {} of a cluster that has {}", f.rank, f.blocks);
  }

  // -------------------------------------------------------------------------------------------------- tensor cores

  std::string operator()(const RegisterInUse& f) const {
    return fmt::format("a register is {} that a wgmma.mma_async which nobody has waited for {}: the one at {}",
                       f.write ? "written" : "read", f.accumulator ? "adds to" : "reads", to_string(f.issued));
  }
  std::string operator()(const WgmmaFenceMissing& f) const {
    return fmt::format("wgmma.mma_async without a wgmma.fence since other code has touched {}, at {}",
                       f.accumulator ? "its accumulators" : "the registers of A", to_string(f.touched));
  }
  std::string operator()(const NoWarpgroup& f) const {
    return fmt::format("warp {} is in no warpgroup: those are four warps each, and the block has {}", f.warp, f.warps);
  }
  std::string operator()(const WarpgroupDiffers& f) const {
    return fmt::format(
        "the warps of a warpgroup execute different instructions that take all four: another one is at {}",
        to_string(f.other));
  }
  std::string operator()(const WgmmaOperandsDiffer& f) const {
    return fmt::format(
        "the threads of a warpgroup give wgmma.mma_async different {}: warp {} has {:#x}, "
        "others {:#x}",
        f.operands, f.warp, f.mine, f.others);
  }
  std::string operator()(const WgmmaDescriptor& f) const {
    return fmt::format("wgmma.mma_async with the descriptor {:#018x} of {}: {}", f.descriptor, f.operand, f.why);
  }
  std::string operator()(const WgmmaBeyondShared& f) const {
    return fmt::format("wgmma.mma_async reads element ({}, {}) of {} at address {:#x}, beyond shared memory", f.row,
                       f.col, f.operand, f.address);
  }
  std::string operator()(const WgmmaShapesDiffer& f) const {
    return fmt::format(
        "wgmma.mma_async adds to registers of one of another shape that nobody has waited for: "
        "the one at {}",
        to_string(f.other));
  }
  std::string operator()(const WarpgroupMissed& f) const {
    return fmt::format("warp {} exits without having executed this instruction, which takes all four of its warpgroup",
                       f.warp);
  }
  std::string operator()(const WmmaPitch& f) const {
    return fmt::format("WMMA: the leading dimension is {}; it must be a multiple of {} elements, 16 bytes", f.ld,
                       f.multiple);
  }

  // -------------------------------------------------------------------------------------------------- deadlocks

  std::string operator()(const Deadlock& f) const {
    std::string text = f.cluster ? "deadlock: no thread of the cluster can go on" : "deadlock: no thread can go on";
    for (const Deadlock::Block& block : f.blocks)
      text += fmt::format("\n{}\n  in block {} of kernel {}", threads(block), text_of(block.index), fault_.kernel);
    return text;
  }
  std::string operator()(const EndlessLoop& f) const {
    return fmt::format("endless loop: the threads of the {} have taken {} s without coming to their end",
                       f.cluster ? "cluster" : "block", f.seconds);
  }
  std::string operator()(std::monostate) const { return "for nothing"; }
  std::string operator()(const BarrierWait& w) const {
    return fmt::format("at barrier {}, {} of {} threads there", w.barrier, w.arrived, w.expected);
  }
  std::string operator()(const CollectiveWait& w) const {
    return fmt::format("at a collective of warp {}, lanes {:#010x} of {:#010x} there", w.warp, w.arrived, w.mask);
  }
  std::string operator()(const MbarrierWait& w) const {
    return fmt::format("for parity {} of the {}: {}", w.parity, place(w.mbarrier), text_of(w.state));
  }
  std::string operator()(const InvalidMbarrierWait&) const { return "for an mbarrier that has been invalidated"; }
  std::string operator()(const ClusterWait& w) const {
    return fmt::format("for the barrier of the cluster, {} of {} threads there", w.arrived, w.live);
  }
  std::string operator()(const BulkGroupWait&) const { return "for a bulk group"; }
  std::string operator()(const WgmmaWait& w) const {
    std::string missing;
    for (const unsigned warp : w.missing) missing += fmt::format(" {}", warp);
    return fmt::format("for the wgmma.mma_async at {}, to which these warps have not come:{}", to_string(w.issued),
                       missing);
  }
  std::string operator()(const RegisterWait& w) const {
    return fmt::format("for registers: setmaxnreg from {} to {} for a warp takes {}, and {} of the block are free",
                       w.registers, w.wanted, (w.wanted - w.registers) * 32, w.free);
  }

  std::string operator()(const SpinWait&) const { return "for a word to change, which it reads over and over"; }

 private:
  bool is_named(const MemoryPlace& at) const { return name_ && at.space == MemoryPlace::Space::shared; }
  std::string offset(std::int64_t bytes) const { return name_ ? name_(bytes) : fmt::format("offset {}", bytes); }
  /// Of shared memory: "at offset 256".
  std::string place(const MemoryPlace& at) const {
    return at.space == MemoryPlace::Space::variable ? "in a __shared__ variable" : "at " + offset(at.offset);
  }
  std::string place(const MbarrierPlace& at) const {
    return fmt::format("mbarrier at {}{}", offset(at.offset),
                       at.initialised ? fmt::format(" (initialised at {})", to_string(*at.initialised)) : "");
  }
  std::string shared(const FaultyAccess& f) const {
    return fmt::format("{}shared {} of {} bytes {}", f.access == Access::async_issue ? "asynchronous " : "",
                       verb_of(f.access), f.bytes, place(f.at));
  }
  static std::string side(const RaceFound::Side& one) {
    using enum RaceFound::Who;
    const char* const who = one.who == thread  ? ""
                            : one.who == lanes ? "several lanes of the warp of "
                            : one.who == wgmma ? "a wgmma of "
                                               : "a bulk copy of ";
    return fmt::format("{}thread {}{} {}{} it{}", who, text_of(one.thread),
                       one.block ? " of block " + text_of(*one.block) : "", one.write ? "write" : "read",
                       one.who == lanes ? "" : "s", at_line(one.line));
  }
  static std::string refusal(const MbarrierRefuses& f) {
    switch (f.why) {
      case MbarrierRefuses::Why::arrivals_at_once:
        return fmt::format("an mbarrier counts {} arrivals at once; 1 to {} are legal", f.count,
                           Mbarrier::most_arrivals);
      case MbarrierRefuses::Why::surplus_arrivals:
        return fmt::format("an mbarrier gets {} {} more than the phase waits for: {}", f.count,
                           f.count == 1 ? "arrival" : "arrivals", text_of(f.state));
      case MbarrierRefuses::Why::bytes: break;
    }
    return fmt::format("an mbarrier has {} bytes pending; {} to {} are legal", f.count, -Mbarrier::most_transactions,
                       Mbarrier::most_transactions);
  }
  /// Who waits for what, on which line: one row for each line and reason.
  std::string threads(const Deadlock::Block& block) const {
    std::map<std::string, std::vector<unsigned>> rows;
    for (const Deadlock::Waiting& one : block.waiting)
      rows[fmt::format("{}: {}", to_string(one.line), std::visit(*this, one.what))].push_back(one.thread);
    if (!block.exited.empty()) rows["exited"] = block.exited;
    std::string text;
    for (const auto& [what, list] : rows) {
      const bool one = list.size() == 1;
      text += fmt::format("{}  {} {}", text.empty() ? "" : "\n", one ? "thread" : "threads", ranges_of(list));
      if (what == "exited")
        text += one ? " has exited" : " have exited";
      else
        text += fmt::format(" {} at {}", one ? "waits" : "wait", what);
    }
    return text;
  }

  const Fault& fault_;
  const NameShared& name_;
};

}  // namespace

FaultKind kind_of(const FaultFacts& facts) {
  return std::visit(
      []<class Facts>(const Facts& f) {
        if constexpr (std::is_same_v<Facts, RuleBroken>)
          return text_of(f.rule).kind;
        else
          return Facts::kind;
      },
      facts);
}

std::string to_text(const Fault& fault, const NameShared& name) {
  std::string text = std::visit(Words(fault, name), fault.facts);
  if (fault.kind() == FaultKind::deadlock) return text;
  if (fault.line) text += "\n  at " + to_string(*fault.line);
  text += "\n  in block " + text_of(fault.block);
  if (fault.thread) text += ", thread " + text_of(*fault.thread);
  return text + " of kernel " + fault.kernel;
}

}  // namespace lapidary::emulator
