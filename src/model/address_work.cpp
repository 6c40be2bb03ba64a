#include "model/address_work.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace lapidary::model {
namespace {

/// Numbers of registers; and, from `spilled` on, words of local memory.
using Values = std::vector<int>;
constexpr int spilled = 256;

/// Adds the registers that a part of an operand names: R4, both of R4.64, and of R4 itself if it is a pair.
void add_registers(std::string_view text, bool pair, Values& values) {
  for (std::size_t at = text.find('R'); at != text.npos; at = text.find('R', at + 1)) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
    // Neither RZ nor UR4, SR_TID.X and PR.
    if (error != std::errc() || (at > 0 && std::isupper(static_cast<unsigned char>(text[at - 1])))) continue;
    values.push_back(number);
    if (pair || text.substr(static_cast<std::size_t>(end - text.data())).starts_with(".64"))
      values.push_back(number + 1);
  }
}

/// How many registers, or words, an instruction writes or spills.
int registers_written(const MachineInstruction& i) {
  const auto has = [&](std::string_view modifier) { return i.opcode.find(modifier) != i.opcode.npos; };
  if (i.kind == InstructionClass::tensor) return 4;  // at least, and never an address
  if (i.opcode.starts_with("LDSM")) return i.opcode.ends_with(".4") ? 4 : i.opcode.ends_with(".2") ? 2 : 1;
  return has(".128") ? 4 : has(".64") || has(".WIDE") || i.opcode == "CS2R" ? 2 : 1;
}

/// What an instruction does with values.
struct Flow {
  std::string_view guard;  ///< its predicate; empty if it is always executed
  Values writes, reads;
  Values addresses;        ///< registers that it reads as parts of addresses
  bool predicate = false;  ///< it writes one, or a uniform register
};

/// The first word of local memory that an operand such as "[R1+0x8]" names.
int spilled_word(std::string_view operand) {
  int offset = 0;
  const std::size_t at = operand.find("0x");
  if (at != operand.npos) std::from_chars(operand.data() + at + 2, operand.data() + operand.size(), offset, 16);
  return spilled + offset / 4;
}

Flow flow_of(const MachineInstruction& i) {
  Flow flow;
  if (i.text.starts_with('@')) flow.guard = std::string_view(i.text).substr(1, i.text.find(' ') - 1);
  const std::vector<std::string_view> all = operands(i);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::size_t open = all[n].find('[');
    const std::string_view outside = all[n].substr(0, open);
    Values& values = n == 0 ? flow.writes : flow.reads;
    if (n == 0) flow.predicate = outside.starts_with('P') || outside.starts_with('U');
    if (i.kind == InstructionClass::local && open != all[n].npos) {
      values.push_back(spilled_word(all[n]));
    } else {
      // IMAD.WIDE adds its product of two registers to a pair.
      add_registers(outside, n == 3 && i.opcode.find(".WIDE") != i.opcode.npos, values);
      if (open != all[n].npos) add_registers(all[n].substr(open), false, flow.addresses);
    }
  }
  // The registers of a vector follow the one that is named.
  const auto widen = [&](Values& values) {
    for (int more = 1; !values.empty() && more < registers_written(i); ++more) values.push_back(values.front() + more);
  };
  widen(flow.writes);
  if (i.kind == InstructionClass::local) widen(flow.reads);
  return flow;
}

/// Which instructions compute what ends in an address or a predicate.
class AddressFlow {
 public:
  explicit AddressFlow(const CompiledKernel& kernel)
      : before_(kernel.instructions.size()), works_(kernel.instructions.size()), known_(kernel.instructions.size()) {
    for (const MachineInstruction& i : kernel.instructions) flows_.push_back(flow_of(i));
    for (std::size_t at = 0; at < flows_.size(); ++at) {
      const MachineInstruction& i = kernel.instructions[at];
      const bool leaves = i.opcode == "EXIT" || i.opcode.starts_with("BRA");
      if (i.target >= 0) before_[static_cast<std::size_t>(i.target)].push_back(at);
      if (at + 1 < flows_.size() && (!leaves || i.conditional)) before_[at + 1].push_back(at);
    }
    for (std::size_t at = 0; at < flows_.size(); ++at) {
      if (kernel.instructions[at].never) continue;
      need(at, flows_[at].addresses);
      if (flows_[at].predicate) need(at, flows_[at].reads);
    }
    follow();
  }

  bool works_for_addresses(std::size_t at) const { return flows_[at].writes.empty() || works_[at]; }

 private:
  /// A value that is needed when an instruction is executed, under the predicate of the one that needs it.
  using Need = std::pair<int, std::string_view>;

  void need(std::size_t at, const Values& values) {
    for (const int value : values) {
      const auto [known, is_new] = numbers_.emplace(Need(value, flows_[at].guard), needs_.size());
      if (is_new) needs_.push_back(known->first);
      push(at, known->second);
    }
  }

  void push(std::size_t at, std::size_t need) {
    std::vector<bool>& known = known_[at];
    if (known.size() <= need) known.resize(needs_.size());
    if (known[need]) return;
    known[need] = true;
    waiting_.emplace_back(at, need);
  }

  /// Goes back from every need to the instructions that wrote the value, and to what they need in turn.
  void follow() {
    while (!waiting_.empty()) {
      const auto [at, needed] = waiting_.back();
      waiting_.pop_back();
      const auto [value, guard] = needs_[needed];
      for (const std::size_t earlier : before_[at]) {
        const Flow& flow = flows_[earlier];
        const bool writes = std::find(flow.writes.begin(), flow.writes.end(), value) != flow.writes.end();
        if (writes && !works_[earlier]) {
          works_[earlier] = true;
          need(earlier, flow.reads);
        }
        // What is written under another predicate may have been left as it was.
        if (!writes || (!flow.guard.empty() && flow.guard != guard)) push(earlier, needed);
      }
    }
  }

  std::vector<Flow> flows_;
  std::vector<std::vector<std::size_t>> before_;  // by instruction, those that may have been executed just before
  std::vector<bool> works_;
  std::vector<Need> needs_;
  std::map<Need, std::size_t> numbers_;   // of needs_
  std::vector<std::vector<bool>> known_;  // by instruction and number of a need
  std::vector<std::pair<std::size_t, std::size_t>> waiting_;
};

}  // namespace

std::optional<AddressWork> address_work(const CompiledKernel& kernel) {
  const Loop* const loop = kernel.product_loop();
  if (!loop) return std::nullopt;
  const AddressFlow flow(kernel);
  AddressWork work;
  work.tensor = kernel.is_tensor();
  for (int at = loop->first; at <= loop->last; ++at) {
    const InstructionClass kind = kernel.instructions[static_cast<std::size_t>(at)].kind;
    work.products += kind == (work.tensor ? InstructionClass::tensor : InstructionClass::fma);
    work.uniform += kind == InstructionClass::uniform;
    if (kind == InstructionClass::integer)
      ++(flow.works_for_addresses(static_cast<std::size_t>(at)) ? work.integer : work.data);
  }
  return work;
}

}  // namespace lapidary::model
