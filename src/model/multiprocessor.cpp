#include "model/multiprocessor.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <deque>
#include "core/error.hpp"

namespace lapidary::model {
namespace {

constexpr int scoreboards = 6;
constexpr double never = 1e300;

struct Warp {
  const WarpProgram* program = nullptr;
  const std::vector<SassInstruction>* code = nullptr;  // the part of it that the warp is in
  int block = 0;
  std::size_t next = 0;
  int iterations_left = 0;
  bool done = false;
  double ready = 0;                        // when the stall count of its last instruction has passed
  std::array<double, scoreboards> free{};  // when each scoreboard is free
  std::deque<double> groups;               // arrival of each committed group of copies
  double copies = 0;                       // arrival of the copies not yet committed
  bool at_barrier = false;
};

struct Block {
  int arrived = 0;
};

/// For how many cycles things were busy; `issue`, `fma` and `tensor` summed over schedulers.
struct Work {
  double issue = 0, fma = 0, tensor = 0, shared = 0, l1 = 0, l2 = 0, dram = 0;
};

class Multiprocessor {
 public:
  Multiprocessor(const std::vector<WarpProgram>& programs, int iterations, int warps, int blocks,
                 const MultiprocessorConstants& c, const MemoryShare& m)
      : c_(c),
        m_(m),
        warps_per_block_(warps),
        blocks_(static_cast<std::size_t>(blocks)),
        warps_(static_cast<std::size_t>(warps * blocks)),
        schedulers_(static_cast<std::size_t>(c.schedulers)) {
    running_ = warps * blocks;
    for (int i = 0; i < warps * blocks; ++i) {
      Warp& warp = warps_[static_cast<std::size_t>(i)];
      warp.block = i / warps;
      double share = 0;
      for (const WarpProgram& program : programs) {
        share += program.share;
        warp.program = &program;
        if (i % warps < share * warps - 1e-6) break;
      }
      warp.code = &warp.program->prologue;
      warp.iterations_left = iterations;
      enter_code(warp);
      schedulers_[static_cast<std::size_t>(i % c.schedulers)].warps.push_back(&warp);
    }
  }

  // Runs until every warp has finished; returns the cycle.
  double run() {
    while (running_ > 0) {
      bool any = false;
      for (Scheduler& scheduler : schedulers_) any |= issue_one(scheduler);
      if (!any && next_event() == never)
        throw Error("the simulated warps wait for each other: their paths have different barriers");
      now_ = any ? now_ + 1 : std::max(now_ + 1, std::ceil(next_event()));
    }
    return now_;
  }

  Work work;
  /// While warps are in the loop: from the first instruction of it that issues to the last one.
  double loop_begin = never, loop_end = 0;
  Work before_loop, after_loop;

 private:
  struct Scheduler {
    std::vector<Warp*> warps;
    std::size_t last = 0;
    double next_fetch = 0;
    std::array<double, 2> bank_free{};
    double heavy_free = 0, lite_free = 0;  // the halves of the multiply-add pipe
    double alu_free = 0, uniform_free = 0, tensor_free = 0;
    std::deque<double> queue;  // when each waiting memory instruction leaves
  };

  double earliest(const Scheduler& scheduler, const Warp& warp) const {
    const SassInstruction& i = (*warp.code)[warp.next];
    double at = std::max(warp.ready, scheduler.next_fetch);
    for (int s = 0; s < scoreboards; ++s)
      if (i.wait >> s & 1) at = std::max(at, warp.free[static_cast<std::size_t>(s)]);
    switch (i.unit) {
      case Unit::fma:
        at = std::max(at,
                      c_.fma_halves > 1 ? std::min(scheduler.heavy_free, scheduler.lite_free) : scheduler.heavy_free);
        for (int bank = 0; bank < 2; ++bank)
          if (i.reads[bank]) at = std::max(at, scheduler.bank_free[static_cast<std::size_t>(bank)] - c_.bank_slack);
        break;
      case Unit::fma_heavy: at = std::max(at, scheduler.heavy_free); break;
      // The next one may issue in the cycle in which the last one leaves, so that parts of cycles add up.
      case Unit::tensor: at = std::max(at, std::floor(scheduler.tensor_free)); break;
      case Unit::alu: at = std::max(at, scheduler.alu_free); break;
      case Unit::uniform: at = std::max(at, scheduler.uniform_free); break;
      case Unit::shared_load:
      case Unit::shared_store:
      case Unit::global_load:
      case Unit::global_store:
      case Unit::async_copy:
        if (static_cast<int>(scheduler.queue.size()) >= c_.queue_entries)
          at = std::max(at, scheduler.queue[scheduler.queue.size() - static_cast<std::size_t>(c_.queue_entries)]);
        break;
      case Unit::wait_group:
        if (warp.groups.size() > i.argument) at = std::max(at, warp.groups[warp.groups.size() - 1 - i.argument]);
        break;
      default: break;
    }
    return at;
  }

  bool issue_one(Scheduler& scheduler) {
    while (!scheduler.queue.empty() && scheduler.queue.front() <= now_) scheduler.queue.pop_front();
    // The warp that issued last goes on as long as it can, then the oldest one that can.
    const std::size_t n = scheduler.warps.size();
    for (std::size_t k = 0; k <= n; ++k) {
      const std::size_t index = k == 0 ? scheduler.last : k - 1;
      if (index >= n) continue;
      Warp& warp = *scheduler.warps[index];
      if (warp.done || warp.at_barrier || earliest(scheduler, warp) > now_) continue;
      scheduler.last = index;
      execute(scheduler, warp);
      return true;
    }
    return false;
  }

  double next_event() const {
    double next = never;
    for (const Scheduler& scheduler : schedulers_)
      for (const Warp* const warp : scheduler.warps)
        if (!warp->done && !warp->at_barrier) next = std::min(next, std::max(now_ + 1, earliest(scheduler, *warp)));
    return next;
  }

  void execute(Scheduler& scheduler, Warp& warp) {
    const SassInstruction& i = (*warp.code)[warp.next];
    const bool in_loop = warp.code == &warp.program->loop;
    if (in_loop && loop_begin == never) {
      loop_begin = now_;
      before_loop = work;
    }
    ++work.issue;
    scheduler.next_fetch = std::max(now_ - 1, scheduler.next_fetch) + c_.fetch_interval;
    double operands = now_ + 2, result = now_ + 4;
    switch (i.unit) {
      case Unit::fma:
        (lite_is_free(scheduler) ? scheduler.lite_free : scheduler.heavy_free) = now_ + c_.pipe_cycles;
        for (std::size_t bank = 0; bank < 2; ++bank)
          if (i.reads[bank]) scheduler.bank_free[bank] = std::max(scheduler.bank_free[bank], now_) + i.reads[bank];
        work.fma += c_.pipe_cycles / c_.fma_halves;
        break;
      case Unit::fma_heavy:
        scheduler.heavy_free = now_ + c_.pipe_cycles;
        work.fma += c_.pipe_cycles / c_.fma_halves;
        break;
      case Unit::tensor: {
        const auto cycles = static_cast<double>(i.tensor_cycles);
        scheduler.tensor_free = std::max(scheduler.tensor_free, now_) + cycles;
        work.tensor += cycles;
        break;
      }
      case Unit::alu: scheduler.alu_free = now_ + c_.pipe_cycles; break;
      case Unit::uniform: scheduler.uniform_free = now_ + c_.pipe_cycles; break;
      case Unit::variable: result = now_ + 20; break;
      case Unit::shared_load:
      case Unit::shared_store: {
        const double busy = std::max<double>(i.wavefronts * c_.wavefront_cycles, c_.shared_issue);
        const double begin = std::max(now_, memory_free_);
        memory_free_ = begin + busy;
        work.shared += busy;
        scheduler.queue.push_back(begin);
        operands = memory_free_;
        result = memory_free_ - 1 + c_.shared_latency;
        break;
      }
      case Unit::global_load:
      case Unit::global_store:
      case Unit::async_copy: {
        const double lines = std::max(1.0, i.wavefronts / c_.lines_per_cycle);
        const double begin = std::max(now_, memory_free_);
        memory_free_ = begin + lines;
        work.l1 += memory_free_ - begin;
        scheduler.queue.push_back(begin);
        operands = memory_free_ + 4;
        result = memory_free_ + c_.l1_latency;
        const double hit = i.reads_c ? m_.c_l1_hit : i.unit == Unit::global_load ? m_.l1_hit : 0;
        const double bytes = i.sectors * (1 - hit) * 32;
        missed_ += bytes;
        // What misses comes in whole accesses: fractions add up until one is full.
        if (missed_ >= bytes && bytes > 0) {
          double amount = bytes;
          if (hit > 0) {
            amount = 0;
            if (missed_ >= i.sectors * 32) amount = i.sectors * 32;
          }
          missed_ -= amount;
          if (amount > 0) {
            const double far = i.reads_c ? amount : amount * (1 - m_.l2_hit);
            double in_l2 = memory_free_ + c_.l2_latency;
            if (far > 0) {
              dram_free_ = std::max(dram_free_, begin) + far / m_.dram_bytes_per_cycle;
              work.dram += far / m_.dram_bytes_per_cycle;
              // Blocks of a wave ask for the same lines at about the same time: all of them wait for the first one.
              in_l2 = std::max(dram_free_, memory_free_ + c_.dram_latency);
            }
            // What was waited for crosses from L2 in turns, and not before it is there.
            l2_free_ = std::max(l2_free_, in_l2) + amount / m_.l2_bytes_per_cycle;
            work.l2 += amount / m_.l2_bytes_per_cycle;
            result = l2_free_;
          }
        }
        if (i.unit == Unit::async_copy) warp.copies = std::max(warp.copies, result);
        break;
      }
      case Unit::commit:
        warp.groups.push_back(warp.copies);
        warp.copies = 0;
        if (warp.groups.size() > 16) warp.groups.pop_front();
        break;
      case Unit::barrier: arrive(warp); break;
      default: break;
    }
    if (i.write_barrier >= 0) {
      double& free = warp.free[static_cast<std::size_t>(i.write_barrier)];
      free = std::max(free, result);
    }
    if (i.read_barrier >= 0) {
      double& free = warp.free[static_cast<std::size_t>(i.read_barrier)];
      free = std::max(free, operands);
    }
    if (in_loop) {
      loop_end = now_ + 1;
      after_loop = work;
    }
    warp.ready = std::max(warp.ready, now_ + std::max<int>(1, i.stall));
    ++warp.next;
    enter_code(warp);
  }

  bool lite_is_free(const Scheduler& scheduler) const { return c_.fma_halves > 1 && scheduler.lite_free <= now_; }

  // Goes on to the next part of its program that has an instruction.
  void enter_code(Warp& warp) {
    const WarpProgram& program = *warp.program;
    while (warp.next == warp.code->size()) {
      warp.next = 0;
      if (warp.code == &program.epilogue) {
        warp.done = true;
        --running_;
        return;
      }
      warp.code = !program.loop.empty() && warp.iterations_left-- > 0 ? &program.loop : &program.epilogue;
    }
  }

  void arrive(Warp& warp) {
    Block& block = blocks_[static_cast<std::size_t>(warp.block)];
    warp.at_barrier = true;
    barrier_free_ = std::max(barrier_free_, now_) + c_.barrier_arrival;
    if (++block.arrived < warps_per_block_) return;
    block.arrived = 0;
    for (Warp& other : warps_) {
      if (other.block != warp.block) continue;
      other.at_barrier = false;
      other.ready = std::max(other.ready, barrier_free_ + c_.barrier_latency);
    }
  }

  const MultiprocessorConstants c_;
  const MemoryShare m_;
  const int warps_per_block_;
  std::vector<Block> blocks_;
  std::vector<Warp> warps_;
  std::vector<Scheduler> schedulers_;
  int running_;
  double now_ = 0, memory_free_ = 0, barrier_free_ = 0, l2_free_ = 0, dram_free_ = 0, missed_ = 0;
};

}  // namespace

BlockTime simulate(const std::vector<WarpProgram>& programs, double iterations, int warps, int blocks,
                   const MultiprocessorConstants& constants, const MemoryShare& memory) {
  // Twelve iterations are longer than every start that was seen, and sixteen smooth out what takes turns.
  constexpr int start = 12, steady = 16;
  const int whole = std::max(1, static_cast<int>(std::lround(iterations)));
  const int most = std::min(whole, start + steady), least = std::max(0, most - steady);
  Multiprocessor longer(programs, most, warps, blocks, constants, memory);
  Multiprocessor shorter(programs, least, warps, blocks, constants, memory);
  const double end = longer.run(), begin = shorter.run();
  const double cycles = std::max(1.0, end - begin);
  BlockTime time;
  time.loop_cycles = cycles / (most - least);
  time.cycles = end + (iterations - most) * time.loop_cycles;
  // A short loop runs beside what is before and behind it: two runs differ by less than its time, and it is busy while
  // any warp is in it.
  const bool is_short = whole < start + steady;
  const Work& from = is_short ? longer.before_loop : shorter.work;
  const Work& to = is_short ? longer.after_loop : longer.work;
  const double window = is_short ? std::max(1.0, longer.loop_end - longer.loop_begin) : cycles;
  // What is asked for in a window may be served after it.
  const auto share = [&](double Work::*thing, int units) {
    return std::min(1.0, (to.*thing - from.*thing) / window / units);
  };
  time.issue = share(&Work::issue, constants.schedulers);
  time.fma = share(&Work::fma, constants.schedulers);
  time.tensor = share(&Work::tensor, constants.schedulers);
  time.shared = share(&Work::shared, 1);
  time.l1 = share(&Work::l1, 1);
  time.l2 = share(&Work::l2, 1);
  time.dram = share(&Work::dram, 1);
  return time;
}

}  // namespace lapidary::model
