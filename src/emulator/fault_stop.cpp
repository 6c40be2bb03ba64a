#include "emulator/fault_stop.hpp"

#include <utility>

#include "emulator/block.hpp"
#include "emulator/scheduler.hpp"
#include "emulator/symbols.hpp"

namespace lapidary::emulator {

void FaultStop::begin() {
  found_.reset();
  put_off_.reset();
}

void FaultStop::stop(FaultFacts facts, std::uintptr_t pc) {
  stop(fault_at(std::move(facts), source_line(pc).value_or(SourceLine{})));
}

void FaultStop::stop(FaultFacts facts, CallSite where) { stop(fault_at(std::move(facts), source_line(where))); }

void FaultStop::stop(FaultFacts facts, const Lane& lane) { stop(std::move(facts), lane, lane.where); }

void FaultStop::stop(FaultFacts facts, const Lane& lane, CallSite where) {
  Fault fault = fault_at(std::move(facts), source_line(where));
  fault.thread = lane.index;
  if (&lane.block->faults() != this) fault.thread.reset();
  stop(std::move(fault));
}

void FaultStop::stop(FaultFacts facts) { stop(Fault{std::move(facts), place_.shape.kernel, place_.index}); }

void FaultStop::put_off(FaultFacts facts, std::uintptr_t pc) {
  if (!put_off_) put_off_ = fault_at(std::move(facts), source_line(pc).value_or(SourceLine{}));
}

void FaultStop::throw_if_found() const {
  if (found_) throw DetailedFault(*found_);
}

void FaultStop::throw_if_put_off() const {
  if (put_off_) throw DetailedFault(*put_off_);
}

Fault FaultStop::fault_at(FaultFacts facts, const SourceLine& line) const {
  Fault fault{std::move(facts), place_.shape.kernel, place_.index, std::nullopt, line};
  if (running && &running->block->faults() == this) fault.thread = running->index;
  return fault;
}

// What comes after a read of unwritten memory may follow from it, unless it tells who else was there, or which copy.
void FaultStop::stop(Fault fault) {
  // A fault of another block of the cluster than the running lane's, whose fiber it is that stops.
  if (running && &running->block->faults() != this) running->block->faults().stop(std::move(fault));
  const bool tells_more = fault.kind() == FaultKind::race || fault.kind() == FaultKind::in_flight;
  found_ = put_off_ && !tells_more ? *put_off_ : std::move(fault);
  if (!running) throw DetailedFault(*found_);
  scheduler_.abandon();
}

}  // namespace lapidary::emulator
