#include "model/program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>

#include "core/error.hpp"

namespace lapidary::model {
namespace {

using Path = std::vector<int>;  // indices of instructions

bool is_global_read(const MachineInstruction& i) {
  return i.kind == InstructionClass::global_load || i.kind == InstructionClass::async_copy;
}

/// The ways through instructions [first, last] of which each step goes forward; loops within are gone through once.
class Ways {
 public:
  Ways(const std::vector<MachineInstruction>& code, int first, int last) : code_(code), first_(first), last_(last) {}

  /// The way that is best by `better(a, b)` of what `measure` adds up over its instructions. Measures are tuples of
  /// which a smaller one is better, so that the best way from each instruction on can be found from behind.
  template <class Measure>
  Path best(Measure measure) const {
    using Cost = std::array<double, 3>;
    constexpr double never = std::numeric_limits<double>::infinity();
    const std::size_t count = static_cast<std::size_t>(last_ - first_ + 1);
    std::vector<Cost> cost(count + 1, Cost{never, never, never});
    std::vector<int> next(count, -1);
    for (int i = last_; i >= first_; --i) {
      const std::size_t at = static_cast<std::size_t>(i - first_);
      const MachineInstruction& instruction = code_[static_cast<std::size_t>(i)];
      const Cost own = measure(instruction);
      const auto consider = [&](int to) {
        Cost total = own;
        if (to <= last_) {
          const Cost& rest = cost[static_cast<std::size_t>(to - first_)];
          if (rest[0] == never) return;
          for (std::size_t part = 0; part < total.size(); ++part) total[part] += rest[part];
        }
        if (total < cost[at]) {
          cost[at] = total;
          next[at] = to;
        }
      };
      const bool ends = instruction.opcode == "EXIT" && !instruction.conditional;
      const bool forward = instruction.target > i;
      if (i == last_ || ends) {
        cost[at] = own;
        next[at] = last_ + 1;
        continue;
      }
      if (forward && instruction.target <= last_ + 1) consider(instruction.target);
      if (instruction.target < 0 || instruction.conditional) consider(i + 1);
    }
    Path path;
    for (int i = first_; i >= first_ && i <= last_; i = next[static_cast<std::size_t>(i - first_)]) path.push_back(i);
    return path;
  }

 private:
  const std::vector<MachineInstruction>& code_;
  int first_, last_;
};

class Translator {
 public:
  Translator(const CompiledKernel& kernel, const ThreadWork& work)
      : kernel_(kernel), work_(work), reads_(bank_reads(kernel.instructions)) {}

  std::vector<SassInstruction> operator()(const Path& path) const {
    return (*this)(path, [](const MachineInstruction&) { return false; });
  }
  /// @param reads_c  tells of an instruction whether it does
  template <class ReadsC>
  std::vector<SassInstruction> operator()(const Path& path, ReadsC reads_c) const {
    std::vector<SassInstruction> code;
    code.reserve(path.size());
    for (const int index : path)
      code.push_back(translate(index, reads_c(kernel_.instructions[static_cast<std::size_t>(index)])));
    return code;
  }

 private:
  SassInstruction translate(int index, bool reads_c) const {
    const MachineInstruction& from = kernel_.instructions[static_cast<std::size_t>(index)];
    SassInstruction to;
    to.stall = static_cast<std::uint8_t>(std::max(1, from.stall));
    to.write_barrier = static_cast<std::int8_t>(from.write_barrier);
    to.read_barrier = static_cast<std::int8_t>(from.read_barrier);
    to.wait = static_cast<std::uint8_t>(from.wait);
    to.bytes = static_cast<std::uint8_t>(from.bytes);
    to.line = from.line;
    to.unit = unit_of(from);
    if (from.never) {
      to.empty_shared_load = to.unit == Unit::shared_load;
      to.unit = Unit::idle;
      return to;
    }
    for (std::size_t bank = 0; bank < 2; ++bank)
      to.reads[bank] = static_cast<std::uint8_t>(reads_[static_cast<std::size_t>(index)][bank]);
    if (from.kind >= InstructionClass::shared_load && from.kind <= InstructionClass::async_copy) {
      to.reads_c = reads_c && work_.cost_of_c;
      const AccessCost cost = (to.reads_c ? work_.cost_of_c : work_.cost)(from.kind, from.bytes);
      to.wavefronts = static_cast<float>(cost.passes);
      to.sectors = static_cast<float>(cost.sectors);
    }
    if (to.unit == Unit::tensor) to.tensor_cycles = static_cast<float>(work_.tensor_cycles(from));
    if (to.unit == Unit::wait_group) to.argument = static_cast<std::uint8_t>(pending_groups(from));
    return to;
  }

  // Which half of the multiply-add pipe: measured by imad_16_warps and half_to_float_16_warps, two cycles each, and by
  // imad_and_3_ffma_16_warps and half_to_float_and_3_ffma_16_warps, little over four; the integer pipe by
  // logic_16_warps.
  static Unit unit_of(const MachineInstruction& i) {
    switch (i.kind) {
      case InstructionClass::fma: return Unit::fma;
      case InstructionClass::other_float: return unit_of_float(i);
      case InstructionClass::tensor: return Unit::tensor;
      case InstructionClass::integer: return i.opcode.starts_with("IMAD") ? Unit::fma_heavy : Unit::alu;
      case InstructionClass::uniform: return Unit::uniform;
      case InstructionClass::shared_load: return Unit::shared_load;
      case InstructionClass::shared_store: return Unit::shared_store;
      case InstructionClass::global_load: return Unit::global_load;
      case InstructionClass::global_store: return Unit::global_store;
      case InstructionClass::async_copy: return Unit::async_copy;
      case InstructionClass::barrier: return i.opcode.starts_with("BAR") ? Unit::barrier : Unit::control;
      case InstructionClass::special: return Unit::variable;
      case InstructionClass::local: return Unit::alu;  // takes an issue slot; what it takes of L1 is not simulated
      case InstructionClass::bulk_copy: return Unit::uniform;
      case InstructionClass::control:
        return i.opcode == "LDGDEPBAR"             ? Unit::commit
               : i.opcode.starts_with("DEPBAR.LE") ? Unit::wait_group
                                                   : Unit::control;
    }
    return Unit::idle;
  }

  static Unit unit_of_float(const MachineInstruction& i) {
    if (i.opcode.starts_with("FMUL") || i.opcode.starts_with("FADD")) return Unit::fma;
    return i.opcode.starts_with("F2F") ? Unit::alu : Unit::fma_heavy;  // F2FP packs two halves
  }

  // "DEPBAR.LE SB0, 0x1"
  static int pending_groups(const MachineInstruction& i) {
    const std::size_t at = i.text.rfind("0x");
    int value = 0;
    if (at != i.text.npos) std::from_chars(i.text.data() + at + 2, i.text.data() + i.text.size(), value, 16);
    return value;
  }

  const CompiledKernel& kernel_;
  const ThreadWork& work_;
  std::vector<std::array<int, 2>> reads_;
};

int count(const CompiledKernel& kernel, const Path& path, bool (*is)(const MachineInstruction&)) {
  return static_cast<int>(std::count_if(path.begin(), path.end(), [&](int i) {
    const MachineInstruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    return !instruction.never && is(instruction);
  }));
}

/// Adds what a warp executes that takes the path so many times.
void add(InstructionMix& mix, const CompiledKernel& kernel, const Path& path, double times) {
  for (const int i : path) mix[kernel.instructions[static_cast<std::size_t>(i)].kind] += times;
}

bool is_fma(const MachineInstruction& i) { return i.kind == InstructionClass::fma; }
bool is_tensor(const MachineInstruction& i) { return i.kind == InstructionClass::tensor; }

/// Multiply-adds of the product that a thread does on its way, by instructions of one kind.
int multiply_adds(const CompiledKernel& kernel, const Path& path, InstructionClass product) {
  int sum = 0;
  for (const int i : path) {
    const MachineInstruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    if (!instruction.never && instruction.kind == product) sum += instruction.multiply_adds();
  }
  return sum / 32;
}

/// The path with the inner loop that has products, if there is one, written out often enough for a tile.
Path write_out_inner_loop(const CompiledKernel& kernel, const Loop& outer, const Path& path, InstructionClass product,
                          double fma_per_tile) {
  for (const Loop& inner : kernel.loops) {
    if (inner.first < outer.first || inner.last >= outer.last) continue;
    const auto begin = std::find(path.begin(), path.end(), inner.first),
               end = std::find(path.begin(), path.end(), inner.last);
    if (begin == path.end() || end == path.end()) continue;
    const Path body(begin, end + 1);
    const int per_round = multiply_adds(kernel, body, product),
              outside = multiply_adds(kernel, path, product) - per_round;
    if (per_round == 0) continue;
    const int rounds = static_cast<int>(std::lround((fma_per_tile - outside) / per_round));
    Path whole(path.begin(), begin);
    for (int round = 0; round < rounds; ++round) whole.insert(whole.end(), body.begin(), body.end());
    whole.insert(whole.end(), end + 1, path.end());
    return whole;
  }
  return path;
}

}  // namespace

std::vector<std::array<int, 2>> bank_reads(const std::vector<MachineInstruction>& instructions) {
  std::vector<std::array<int, 2>> reads(instructions.size());
  std::array<int, 4> kept{-1, -1, -1, -1};  // by operand, what the instruction before left in the reuse cache
  for (std::size_t n = 0; n < instructions.size(); ++n) {
    const MachineInstruction& i = instructions[n];
    std::array<int, 4> keeps{-1, -1, -1, -1};
    const std::vector<std::string_view> all = operands(i);
    for (std::size_t slot = 0; slot + 1 < all.size() && slot < keeps.size(); ++slot) {
      std::string_view operand = all[slot + 1];  // behind the destination
      operand.remove_prefix(std::min(operand.find_first_not_of("-|~"), operand.size()));
      int number = 0;
      if (!operand.starts_with("R") ||
          std::from_chars(operand.data() + 1, operand.data() + operand.size(), number).ec != std::errc())
        continue;
      if (is_fma(i) && kept[slot] != number) ++reads[n][static_cast<std::size_t>(number % 2)];
      if (operand.find(".reuse") != operand.npos) keeps[slot] = number;
    }
    kept = keeps;
  }
  return reads;
}

KernelProgram program_of(const CompiledKernel& kernel, const ThreadWork& work) {
  const Loop* const loop = kernel.main_loop();
  if (!loop) throw Error("the machine code of " + kernel.kernel + " has no loop with multiply-adds");
  if (kernel.is_warpgroup())
    throw Error(kernel.kernel + " multiplies by warpgroups, which no single warp's code tells");
  const InstructionClass product = kernel.is_tensor() ? InstructionClass::tensor : InstructionClass::fma;
  const int last = static_cast<int>(kernel.instructions.size()) - 1;
  const Translator translate(kernel, work);
  using Cost = std::array<double, 3>;
  const auto most_loads = [](const MachineInstruction& i) {
    return Cost{-static_cast<double>(is_global_read(i)), -static_cast<double>(i.kind == InstructionClass::shared_load),
                1};
  };
  const auto fewest_loads = [](const MachineInstruction& i) {
    return Cost{static_cast<double>(is_global_read(i)), -static_cast<double>(i.kind == InstructionClass::shared_load),
                1};
  };
  // What is read from the same lines in the loop is of A and B, where K is no multiple of what the loop takes at once.
  const auto reads_c = [&](const MachineInstruction& i) {
    return is_global_read(i) && std::none_of(kernel.instructions.begin() + loop->first,
                                             kernel.instructions.begin() + loop->last + 1, [&](const auto& other) {
                                               return is_global_read(other) && other.line == i.line &&
                                                      other.file == i.file;
                                             });
  };
  const auto most_stores = [](const MachineInstruction& i) {
    return Cost{-static_cast<double>(i.kind == InstructionClass::global_store), static_cast<double>(is_global_read(i)),
                1};
  };
  const auto most_stores_and_c = [&](const MachineInstruction& i) {
    const double reads = reads_c(i) ? -1 : is_global_read(i);
    return Cost{-static_cast<double>(i.kind == InstructionClass::global_store), reads, 1};
  };
  const auto through = [&](auto measure) {
    const Path path = Ways(kernel.instructions, loop->first, loop->last).best(measure);
    return write_out_inner_loop(kernel, *loop, path, product, work.fma_per_tile);
  };

  KernelProgram program;
  const Path loading = through(most_loads), idle = through(fewest_loads);
  program.tensor = product == InstructionClass::tensor;
  program.fma_per_iteration = multiply_adds(kernel, loading, product);
  if (program.fma_per_iteration == 0)
    throw Error("the way through the main loop of " + kernel.kernel + " has no products of a known shape");
  program.loop_bytes = 16 * (loop->last - loop->first + 1);

  const int loads = count(kernel, loading, is_global_read), fewest = count(kernel, idle, is_global_read);
  const double wanted = work.fma_per_tile > 0 ? work.loads_per_tile * program.fma_per_iteration / work.fma_per_tile
                                              : loads;
  const bool some = loads > fewest && wanted < loads - 0.01;  // of the warps load less than the code could
  const double share = some ? std::clamp((wanted - fewest) / (loads - fewest), 0.0, 1.0) : 1;

  Path before, after, after_with_c;
  if (loop->first > 0) before = Ways(kernel.instructions, 0, loop->first - 1).best(most_loads);
  if (loop->last < last) {
    const Ways behind(kernel.instructions, loop->last + 1, last);
    after = behind.best(most_stores);
    after_with_c = work.reads_c ? behind.best(most_stores_and_c) : after;
  }
  // What is left over are multiply-adds of alpha.
  const int taken_out = (multiply_adds(kernel, before, product) + multiply_adds(kernel, after, product)) /
                        program.fma_per_iteration;
  program.iterations = std::max(0.0, work.fma / program.fma_per_iteration - taken_out);
  add(program.pass, kernel, loading, share);
  add(program.pass, kernel, idle, 1 - share);
  add(program.warp, kernel, before, 1);
  add(program.warp, kernel, after_with_c, 1);
  for (std::size_t c = 0; c < program.warp.counts.size(); ++c)
    program.warp.counts[c] += program.iterations * program.pass.counts[c];

  if (work.reads_c) program.epilogue_with_c = translate(after_with_c, reads_c);
  const WarpProgram all{share, translate(before), translate(loading), translate(after)};
  if (share > 0) program.programs.push_back(all);
  if (some) {
    program.programs.push_back(all);
    program.programs.back().share = 1 - share;
    program.programs.back().loop = translate(idle);
  }
  return program;
}

InstructionMix warpgroup_pass(const CompiledKernel& kernel) {
  const Loop* const loop = kernel.main_loop();
  if (!loop || !kernel.is_warpgroup()) throw Error(kernel.kernel + " has no loop in which warpgroups multiply");
  const auto copies_nothing = [](const MachineInstruction& i) {
    return std::array{static_cast<double>(i.kind == InstructionClass::bulk_copy), -static_cast<double>(is_tensor(i)),
                      1.0};
  };
  InstructionMix mix;
  add(mix, kernel, Ways(kernel.instructions, loop->first, loop->last).best(copies_nothing), 1);
  return mix;
}

}  // namespace lapidary::model
