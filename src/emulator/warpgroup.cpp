#include "emulator/warpgroup.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/access_checker.hpp"
#include "emulator/access_counter.hpp"
#include "emulator/access_log.hpp"
#include "emulator/fault_stop.hpp"
#include "emulator/lane.hpp"
#include "emulator/machine.hpp"
#include "emulator/race_checker.hpp"
#include "emulator/registers.hpp"
#include "emulator/scheduler.hpp"
#include "emulator/shared_memory.hpp"
#include "emulator/symbols.hpp"
#include "layout/fragment.hpp"

namespace lapidary::emulator {
namespace {

constexpr int chunk_bytes = 16;

int bytes_of(Number number) { return width_of(number) / 8; }

unsigned place_of(const Warp& warp) { return warp.id % 4; }

std::size_t bytes_of_d(const TensorOperation& what) {
  return static_cast<std::size_t>(what.M * what.N / 128 * bytes_of(what.d));
}
constexpr std::size_t bytes_of_a = 16;

/// Forms of steps that have none: their addresses tell them apart.
constexpr char fence_step = 'f', commit_step = 'c', wait_step = 'w';

/// Changes the sign of floating-point numbers.
void negate(std::vector<std::uint64_t>& numbers, Number number) {
  for (std::uint64_t& bits : numbers) bits ^= std::uint64_t{1} << (width_of(number) - 1);
}

}  // namespace

Warpgroups::Warpgroups(const Options& options, const BlockPlace& place, Scheduler& scheduler, SharedMemory& shared,
                       AccessChecker& checker, AccessCounter& counter, AccessLog& log, RaceChecker& races,
                       FaultStop& faults)
    : options_(options),
      place_(place),
      scheduler_(scheduler),
      shared_(shared),
      checker_(checker),
      counter_(counter),
      log_(log),
      races_(races),
      faults_(faults) {}

void Warpgroups::begin() {
  for (unsigned i = 0; i < place_.threads; ++i) registers_[i].clear();
  for (Group& group : groups_) group = {};
  computable_ = 0;
  if (options_.check) readers_.assign(shared_.bytes() / chunk_bytes + 1, 0);
}

Warpgroups::Group& Warpgroups::group_of(const Warp& warp) { return groups_[warp.id / 4]; }

void Warpgroups::step(const Warp& warp, const void* form, CallSite where) {
  const unsigned first = warp.id / 4 * 4;
  if (first + 3 >= place_.warps) faults_.stop(NoWarpgroup{warp.id, place_.warps}, where);
  Group& group = group_of(warp);
  const std::uint64_t number = group.warps[place_of(warp)].steps++;
  if (number == group.first_step + group.steps.size()) group.steps.push_back({form, where});
  Step& step = group.steps[number - group.first_step];
  if (step.form != form || step.where != where) faults_.stop(WarpgroupDiffers{source_line(step.where)}, where);
  for (unsigned i = 0; i < 4; ++i)
    if (group.warps[i].steps <= number && !scheduler_.warp(first + i).alive)
      faults_.stop(WarpgroupMissed{first + i}, where);
  if (++step.warps < 4) return;
  group.steps.pop_front();
  ++group.first_step;
}

// ---------------------------------------------------------------------------------------------------- registers

Warpgroups::RegisterArray& Warpgroups::array(const Lane& lane, std::uintptr_t begin, std::size_t bytes) {
  for (RegisterArray& known : registers_[lane.thread])
    if (known.begin == begin && known.end == begin + bytes) return known;
  RegisterArray& added = registers_[lane.thread].emplace_back();
  added.begin = begin;
  added.end = begin + bytes;
  log_.watch_registers(lane);
  return added;
}

void Warpgroups::watch(const Lane& lane, const void* registers, std::size_t bytes) {
  if (options_.check && bytes) array(lane, reinterpret_cast<std::uintptr_t>(registers), bytes);
}

void Warpgroups::touch(const Lane& lane, std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc) {
  for (RegisterArray& known : registers_[lane.thread]) {
    if (address >= known.end || address + bytes <= known.begin || (!write && !known.is_d)) continue;
    if (known.pending) faults_.stop(RegisterInUse{write, known.is_d, source_line(known.where)}, pc);
    known.touched = true;
    known.touched_by = {address, address + bytes, pc};
  }
}

void Warpgroups::check_registers(const Lane& lane, const WgmmaOperands& operands, const abi::WgmmaForm& form,
                                 CallSite where) {
  const auto use = [&](const void* registers, std::size_t bytes, bool is_d) {
    const auto begin = reinterpret_cast<std::uintptr_t>(registers), end = begin + bytes;
    for (const RegisterArray& known : registers_[lane.thread])
      if (known.touched && known.touched_by.begin < end && begin < known.touched_by.end)
        faults_.stop(WgmmaFenceMissing{is_d, source_line(known.touched_by.pc).value_or(SourceLine{})}, where);
    RegisterArray& used = array(lane, begin, bytes);
    used.is_d = is_d;
    used.where = where;
    ++used.pending;
  };
  use(operands.d, bytes_of_d(form.operation), true);
  if (operands.a) use(operands.a, bytes_of_a, false);
}

void Warpgroups::fence(Warp& warp, CallSite where) {
  step(warp, &fence_step, where);
  group_of(warp).warps[place_of(warp)].fenced = true;
  for (Lane* const lane : warp.lanes)
    for (RegisterArray& known : registers_[lane->thread]) known.touched = false;
}

// ---------------------------------------------------------------------------------------------------- issue

void Warpgroups::check_same(const Warp& warp, const Product& product, const WgmmaOperands& operands, CallSite where) {
  const auto compare = [&](std::uint64_t mine, std::uint64_t others, const char* what) {
    if (mine != others) faults_.stop(WgmmaOperandsDiffer{what, warp.id, mine, others}, where);
  };
  if (!operands.a) compare(operands.a_descriptor, product.operands.a_descriptor, "descriptors of A");
  compare(operands.b_descriptor, product.operands.b_descriptor, "descriptors of B");
  compare(operands.accumulate, product.operands.accumulate, "values of scale-d");
}

template <class Visit>
void Warpgroups::for_each_chunk(const Product& product, Visit&& visit) const {
  const TensorOperation& what = product.form->operation;
  const auto operand = [&](std::uint64_t bits, Major major, Number number, int MN, bool is_a) {
    const MatrixDescriptor descriptor = decode_matrix_descriptor(bits);
    const int e = bytes_of(number), in_chunk = chunk_bytes / e;
    // Neighbours along the major mode are one chunk.
    const int mn_step = major == Major::mn ? in_chunk : 1, k_step = major == Major::k ? in_chunk : 1;
    for (int mn = 0; mn < MN; mn += mn_step)
      for (int k = 0; k < what.K; k += k_step) visit(is_a, mn, k, address_of(descriptor, major, e, mn, k));
  };
  if (!product.operands.a) operand(product.operands.a_descriptor, product.form->a_major, what.a, what.M, true);
  operand(product.operands.b_descriptor, product.form->b_major, what.b, what.N, false);
}

unsigned char* Warpgroups::address(std::uint32_t shared) const { return shared_.at(shared); }

// Checks what a product reads, and counts it.
void Warpgroups::begin_product(Group& group, Product& product) {
  const auto check = [&](std::uint64_t bits, Major major, char operand) {
    if (const char* const why = misalignment_of(decode_matrix_descriptor(bits), major))
      faults_.stop(WgmmaDescriptor{bits, operand, why}, product.where);
  };
  if (!product.operands.a) check(product.operands.a_descriptor, product.form->a_major, 'A');
  check(product.operands.b_descriptor, product.form->b_major, 'B');
  if (!options_.multiply && !options_.check) return;
  for_each_chunk(product, [&](bool is_a, int mn, int k, std::uint32_t shared) {
    unsigned char* const memory = address(shared);
    if (!memory) faults_.stop(WgmmaBeyondShared{is_a ? 'A' : 'B', is_a ? mn : k, is_a ? k : mn, shared}, product.where);
    product.chunks.push_back({reinterpret_cast<std::uintptr_t>(memory), is_a ? 1u << mn / 16 : 15});
  });
  if (!options_.check) return;
  for (const auto& [chunk, warps] : product.chunks)
    checker_.check_bounds(chunk, chunk_bytes, Access::shared_load, product.operands.pc);
  for (const auto& [chunk, warps] : product.chunks) {
    ++readers_[shared_.offset(chunk) / chunk_bytes];
    shared_.set_state(chunk, chunk_bytes, ByteState::reading);
  }
  instructions_.insert(product.operands.pc);
  for (unsigned place = 0; place < 4; ++place)
    product.marks[place] = races_.begin_copy(reinterpret_cast<std::uintptr_t>(&group.warps[place]));
}

void Warpgroups::issue(Warp& warp, const abi::WgmmaForm& form, void* const (&lanes)[32], CallSite where) {
  Group& group = group_of(warp);
  const unsigned place = place_of(warp);
  Member& member = group.warps[place];
  const TensorOperation& what = form.operation;
  const WgmmaOperands& first = *static_cast<const WgmmaOperands*>(lanes[0]);
  step(warp, &form, where);
  if (!member.fenced) faults_.stop(RuleBroken{Rule::first_wgmma_fence}, where);
  const std::uint64_t number = member.issued;
  const bool begins = number == group.first + group.products.size();
  if (begins) {
    Product& added = group.products.emplace_back();
    added.form = &form;
    added.operands = first;
    added.where = where;
  }
  Product& product = group.at(number);
  for (void* const lane : lanes) check_same(warp, product, *static_cast<const WgmmaOperands*>(lane), where);
  if (begins) {
    counter_.count_wgmma(first.pc, {.instructions = 1,
                                    .shared_bytes = static_cast<std::uint64_t>((first.a ? 0 : what.M) + what.N) * 32,
                                    .flop = std::uint64_t{2} * static_cast<unsigned>(what.M * what.N * what.K)});
    begin_product(group, product);
  }
  if (options_.check)
    for (const auto& [chunk, warps] : product.chunks)
      if (warps >> place & 1) races_.touch_by_wgmma(product.marks[place], chunk, first.pc);
  const bool multiply = options_.multiply;
  if (multiply && product.c.empty()) product.c.resize(static_cast<std::size_t>(what.M * what.N));
  if (multiply && first.a && product.a.empty()) product.a.resize(static_cast<std::size_t>(what.M * what.K));
  // A product that this warp has not waited for may be writing the same registers.
  const std::size_t d_bytes = bytes_of_d(what);
  for (std::uint64_t other = number; other-- > member.delivered;) {
    const Product& earlier = group.at(other);
    const auto begin = [&](const Product& p) { return reinterpret_cast<std::uintptr_t>(p.d[place * 32]); };
    const auto mine = reinterpret_cast<std::uintptr_t>(first.d);
    const std::size_t its_bytes = bytes_of_d(earlier.form->operation);
    if (mine >= begin(earlier) + its_bytes || begin(earlier) >= mine + d_bytes) continue;
    if (mine != begin(earlier) || its_bytes != d_bytes || earlier.form->operation.d != what.d)
      faults_.stop(WgmmaShapesDiffer{source_line(earlier.where)}, where);
    product.after[place] = static_cast<std::int64_t>(other);
    break;
  }
  const Registers in(what.a), out(what.d);
  for (unsigned i = 0; i < 32; ++i) {
    const Lane& lane = *warp.lanes[i];
    const WgmmaOperands& operands = *static_cast<const WgmmaOperands*>(lanes[i]);
    const auto thread = static_cast<int>(place * 32 + i);
    if (options_.check) check_registers(lane, operands, form, where);
    product.d[place * 32 + i] = operands.d;
    product.a_from[place * 32 + i] = operands.a;
    if (!multiply) continue;
    if (product.after[place] < 0 && operands.accumulate)
      for (int e = 0; e < what.N / 2; ++e) {
        const RowCol<int> at = wgmma_d(thread, e);
        product.c[static_cast<std::size_t>(at.row * what.N + at.col)] = out.get(operands.d, e);
      }
    if (operands.a)
      for (int e = 0; e < what.K / 2; ++e) {
        const RowCol<int> at = wgmma_a(in.packed(), thread, e / in.packed(), e % in.packed());
        product.a[static_cast<std::size_t>(at.row * what.K + at.col)] = in.get(operands.a, e);
      }
    std::memset(operands.d, 0xff, d_bytes);
  }
  ++member.issued;
  product.issued |= 1u << place;
  if (!product.is_computable()) return;
  ++computable_;
  scheduler_.wake(LaneState::at_wgmma);
}

void Warpgroups::commit(Warp& warp, CallSite where) {
  step(warp, &commit_step, where);
  Member& member = group_of(warp).warps[place_of(warp)];
  member.groups.push_back(member.issued);
}

// ---------------------------------------------------------------------------------------------------- completion

void Warpgroups::wait(Warp& warp, unsigned pending, CallSite where) {
  step(warp, &wait_step, where);
  Member& member = group_of(warp).warps[place_of(warp)];
  const std::size_t groups = member.groups.size();
  member.wanted = std::max(member.delivered, groups > pending ? member.groups[groups - 1 - pending] : 0);
  // Groups that are complete are of no interest any more.
  const auto open = std::find_if(member.groups.begin(), member.groups.end(),
                                 [&](std::uint64_t products) { return products > member.wanted; });
  member.groups.erase(member.groups.begin(), open);
}

void Warpgroups::finish_wait() {
  while (!deliver_wanted(*running->warp)) scheduler_.suspend(*running, LaneState::at_wgmma);
}

// If all products that the warp waits for have been issued by all of its warpgroup, writes their D.
bool Warpgroups::deliver_wanted(Warp& warp) {
  Group& group = group_of(warp);
  Member& member = group.warps[place_of(warp)];
  for (std::uint64_t number = member.delivered; number < member.wanted; ++number)
    if (group.at(number).issued != 15) return false;
  while (member.delivered < member.wanted) {
    const std::uint64_t number = member.delivered;
    while (!group.at(number).computed) compute_next(group);
    deliver(group, number, warp);
    ++member.delivered;
  }
  while (!group.products.empty() && group.products.front().delivered == 15) {
    group.products.pop_front();
    ++group.first;
  }
  return true;
}

Wait Warpgroups::wait_of(const Warp& warp) const {
  const Group& group = groups_[warp.id / 4];
  const Member& member = group.warps[place_of(warp)];
  for (std::uint64_t number = member.delivered; number < member.wanted; ++number) {
    const Product& product = group.at(number);
    if (product.issued == 15) continue;
    WgmmaWait wait{source_line(product.where), {}};
    for (unsigned place = 0; place < 4; ++place)
      if (!(product.issued >> place & 1)) wait.missing.push_back(warp.id / 4 * 4 + place);
    return wait;
  }
  return {};
}

void Warpgroups::advance(std::minstd_rand& random) {
  const auto chosen = random() % groups_.size();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[(chosen + i) % groups_.size()];
    const bool any = std::any_of(group.products.begin(), group.products.end(),
                                 [](const Product& product) { return product.is_computable(); });
    if (any) return compute_next(group);
  }
}

void Warpgroups::compute_next(Group& group) {
  const auto next = std::find_if(group.products.begin(), group.products.end(),
                                 [](const Product& product) { return !product.computed; });
  compute(group, *next);
}

// A warp's rows of what a product leaves in registers, as what the next one adds to.
void Warpgroups::hand_on(const Product& product, Product& next, unsigned place) {
  if (!next.operands.accumulate) return;
  const auto rows = static_cast<std::ptrdiff_t>(next.form->operation.N) * 16;
  const auto first = rows * static_cast<std::ptrdiff_t>(place);
  std::copy_n(product.c.begin() + first, rows, next.c.begin() + first);
}

void Warpgroups::compute(Group& group, Product& product) {
  product.computed = true;
  --computable_;
  if (!options_.multiply) return;
  const TensorOperation& what = product.form->operation;
  for (unsigned place = 0; place < 4; ++place) {
    if (product.after[place] >= 0) hand_on(group.at(static_cast<std::uint64_t>(product.after[place])), product, place);
  }
  if (!product.operands.a) product.a.resize(static_cast<std::size_t>(what.M * what.K));
  std::vector<std::uint64_t> b(static_cast<std::size_t>(what.N * what.K));
  for_each_chunk(product, [&](bool is_a, int mn, int k, std::uint32_t shared) {
    const Number number = is_a ? what.a : what.b;
    const bool along_k = (is_a ? product.form->a_major : product.form->b_major) == Major::k;
    std::vector<std::uint64_t>& matrix = is_a ? product.a : b;
    const Registers memory(number);
    for (int i = 0; i < chunk_bytes / bytes_of(number); ++i)
      matrix[static_cast<std::size_t>(along_k ? mn * what.K + k + i : (mn + i) * what.K + k)] = memory.get(
          address(shared), i);
  });
  if (product.form->negate_a) negate(product.a, what.a);
  if (product.form->negate_b) negate(b, what.b);
  multiply(what, product.a.data(), b.data(), product.c.data(), product.c.data());
}

// Once all four warps know that their parts of the product are complete, its operands may be written again.
void Warpgroups::end_reading(Product& product) {
  if (!options_.check) return;
  for (const auto& [chunk, warps] : product.chunks)
    if (--readers_[shared_.offset(chunk) / chunk_bytes] == 0) shared_.set_state(chunk, chunk_bytes, ByteState::written);
}

void Warpgroups::deliver(Group& group, std::uint64_t number, Warp& warp) {
  const unsigned place = place_of(warp);
  const Member& member = group.warps[place];
  Product& product = group.at(number);
  const TensorOperation& what = product.form->operation;
  product.delivered |= 1u << place;
  races_.end_copy(product.marks[place], warp);
  if (product.delivered == 15) end_reading(product);
  // A later product that adds to the same registers still has them: it goes on from what this one leaves there.
  bool last = true;
  for (std::uint64_t later = number + 1; later < member.issued; ++later) {
    Product& next = group.at(later);
    if (next.after[place] != static_cast<std::int64_t>(number)) continue;
    last = false;
    if (options_.multiply && !next.computed) hand_on(product, next, place);
    next.after[place] = -1;
  }
  const Registers out(what.d);
  for (unsigned i = 0; i < 32; ++i) {
    const auto thread = place * 32 + i;
    for (RegisterArray& known : registers_[warp.lanes[i]->thread]) {
      const auto* const begin = reinterpret_cast<const void*>(known.begin);
      const bool of_d = known.is_d && begin == product.d[thread], of_a = !known.is_d && begin == product.a_from[thread];
      if (known.pending && (of_d || of_a)) --known.pending;
    }
    if (last && options_.multiply)
      for (int e = 0; e < what.N / 2; ++e) {
        const RowCol<int> at = wgmma_d(static_cast<int>(thread), e);
        out.set(product.d[thread], e, product.c[static_cast<std::size_t>(at.row * what.N + at.col)]);
      }
  }
}

std::optional<CallSite> Warpgroups::reader(std::uintptr_t byte) const {
  const std::uintptr_t chunk = byte / chunk_bytes * chunk_bytes;
  for (const Group& group : groups_)
    for (const Product& product : group.products)
      if (product.delivered != 15 && std::any_of(product.chunks.begin(), product.chunks.end(),
                                                 [&](const Product::Chunk& read) { return read.address == chunk; }))
        return product.where;
  return std::nullopt;
}

void Warpgroups::check_exit(const Warp& warp) {
  if (warp.id / 4 * 4 + 3 >= place_.warps) return;
  const Group& group = groups_[warp.id / 4];
  const Member& member = group.warps[place_of(warp)];
  if (member.delivered < member.issued) faults_.stop(RuleBroken{Rule::wgmma_at_exit}, group.at(member.delivered).where);
  if (member.steps < group.first_step + group.steps.size())
    faults_.stop(WarpgroupMissed{warp.id}, group.steps[member.steps - group.first_step].where);
}

}  // namespace lapidary::emulator
