#include "emulator/access_checker.hpp"

#include <algorithm>

#include "emulator/arena.hpp"
#include "emulator/block.hpp"
#include "emulator/cluster.hpp"
#include "emulator/copy_engine.hpp"
#include "emulator/fault_stop.hpp"

namespace lapidary::emulator {

SharedMemory& AccessChecker::memory_of(std::uintptr_t address) {
  return shared_.offset(address) != SharedMemory::npos ? shared_ : cluster_.owner(address, place_.rank)->shared();
}

MemoryPlace AccessChecker::place_of(std::uintptr_t address, bool is_global) {
  using enum MemoryPlace::Space;
  if (!is_global) {
    const SharedMemory& memory = memory_of(address);
    return {
        memory.is_static(address) ? variable : shared, {}, memory.dynamic_offset(address), place_.shape.shared_bytes};
  }
  Arena& memory = cluster_.memory();
  const Allocation* const allocation = memory.contains(address) ? memory.nearest(address) : nullptr;
  if (!allocation) return {};  // a __device__ variable
  return {global, allocation->label, static_cast<std::int64_t>(address - allocation->base), allocation->bytes};
}

void AccessChecker::check_alignment(std::uintptr_t address, unsigned bytes, unsigned alignment, Access access,
                                    std::uintptr_t pc) {
  if (address % alignment) faults_.stop(Misaligned{access, bytes, address, alignment}, pc);
}

void AccessChecker::check_global(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  const Allocation* const allocation = cluster_.memory().at_or_below(address);
  if (place_.shape.overlaps && !grid_waited_[running->thread])
    faults_.stop(BeforeGridWait{{access, bytes, place_of(address, true)}}, pc);
  const bool inside = allocation && address + bytes <= allocation->end();
  if (!inside || !allocation->lines.hold(address - allocation->base, bytes))
    faults_.stop(OutOfBounds{{access, bytes, place_of(address, true)}, inside}, pc);
}

void AccessChecker::check_global_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc) {
  if (cluster_.memory().contains(address)) check_global(address, bytes, access, pc);
}

void AccessChecker::check_bounds(std::uintptr_t address, unsigned bytes, Access access, std::uintptr_t pc,
                                 bool overwrites) {
  if (is_global(access)) return check_global(address, bytes, access, pc);
  SharedMemory& shared = memory_of(address);
  ByteState* const states = shared.states() + shared.offset(address);
  const bool reads = !is_write(access) || (is_atomic(access) && !overwrites);
  for (unsigned i = 0; i < bytes; ++i) {
    const ByteState state = states[i];
    if (state == ByteState::written) continue;  // as nearly all that is accessed
    const auto at_fault = [&] { return FaultyAccess{access, bytes, place_of(address + i, false)}; };
    if (state == ByteState::red_zone) faults_.stop(OutOfBounds{at_fault()}, pc);
    if (state == ByteState::mbarrier) faults_.stop(MbarrierAccessed{at_fault()}, pc);
    if (state == ByteState::reading && is_write(access))
      if (const auto product = cluster_.owner(address, place_.rank)->warpgroups().reader(address + i))
        faults_.stop(DuringWgmma{at_fault(), source_line(*product)}, pc);
    const bool in_flight = state == ByteState::in_flight;
    if (in_flight || (state == ByteState::reading && is_write(access)))
      if (const BulkCopy* const copy = cluster_.copies().at(address + i))
        faults_.stop(DuringBulkCopy{at_fault(), copy->kind, source_line(copy->where)}, pc);
    const bool early = in_flight || (state == ByteState::unwritten && reads);
    if (!early || faults_.has_put_off()) continue;
    if (in_flight)
      faults_.put_off(DuringAsyncCopy{at_fault()}, pc);
    else
      faults_.put_off(ReadBeforeWrite{at_fault()}, pc);
    if (is_write(access)) faults_.stop_put_off();
    // Where a barrier is missing, the thread that should have come first is yet to come. It may until the next barrier;
    // then the race detector names both.
  }
  if (is_write(access)) std::fill_n(states, bytes, ByteState::written);
}

}  // namespace lapidary::emulator
