#include "model/sass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace lapidary::model {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return text.starts_with(p); });
}

InstructionClass class_of(std::string_view opcode) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  if (base == "FFMA") return InstructionClass::fma;
  if (starts_with_any(base, {"HMMA", "IMMA", "DMMA", "HGMMA", "IGMMA", "QGMMA"})) return InstructionClass::tensor;
  // Generic addresses, which only fragments of the WMMA API are loaded from, are those of shared memory.
  if (base == "LDS" || base == "LDSM" || base == "LD") return InstructionClass::shared_load;
  if (base == "STS" || base == "STSM" || base == "ST") return InstructionClass::shared_store;
  if (base == "LDG") return InstructionClass::global_load;
  if (base == "STG") return InstructionClass::global_store;
  if (base == "LDGSTS") return InstructionClass::async_copy;
  if (base == "LDL" || base == "STL") return InstructionClass::local;
  if (starts_with_any(base, {"UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF"}))
    return InstructionClass::bulk_copy;
  if (starts_with_any(base, {"BAR", "SYNCS", "UCGABAR", "ARRIVES"})) return InstructionClass::barrier;
  if (starts_with_any(base, {"BRA", "BSSY", "BSYNC", "EXIT", "WARPSYNC", "NOP", "CALL", "RET", "LDGDEPBAR", "DEPBAR",
                             "WARPGROUP", "UTMACMDFLUSH", "FENCE", "MEMBAR", "ERRBAR", "ELECT", "USETMAXREG"}))
    return InstructionClass::control;
  if (starts_with_any(base, {"LDC", "S2", "MUFU", "I2F", "F2I", "CS2R", "R2UR"})) return InstructionClass::special;
  if (starts_with_any(base, {"FADD", "FMUL", "HADD2", "HMUL2", "HFMA2", "F2F"})) return InstructionClass::other_float;
  if (base.starts_with("U") || base == "VOTEU") return InstructionClass::uniform;
  return InstructionClass::integer;
}

template <class Number>
bool parse_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Bytes that a lane of a memory instruction moves, by the opcode's modifiers.
int access_bytes(std::string_view opcode, InstructionClass kind) {
  if (kind < InstructionClass::shared_load || kind > InstructionClass::async_copy) return 0;
  // Rows of 16 bytes, which a lane addresses and lanes share out.
  if (opcode.starts_with("LDSM") || opcode.starts_with("STSM")) return 16;
  for (const auto& [modifier, bytes] : {std::pair(".128", 16), std::pair(".64", 8), std::pair(".U16", 2),
                                        std::pair(".S16", 2), std::pair(".U8", 1), std::pair(".S8", 1)})
    if (opcode.find(modifier) != opcode.npos) return bytes;
  return 4;
}

InstructionClass ptx_class_of(std::string_view opcode, std::string_view operands) {
  constexpr std::array<std::pair<std::string_view, InstructionClass>, 30> prefixes = {
      {{"fma.", InstructionClass::fma},
       {"mma.sync", InstructionClass::tensor},
       {"wgmma.mma_async", InstructionClass::tensor},
       {"wgmma.", InstructionClass::control},
       {"ldmatrix", InstructionClass::shared_load},
       {"stmatrix", InstructionClass::shared_store},
       {"ld.shared", InstructionClass::shared_load},
       {"st.shared", InstructionClass::shared_store},
       {"ld.global", InstructionClass::global_load},
       {"st.global", InstructionClass::global_store},
       {"ld.local", InstructionClass::local},
       {"st.local", InstructionClass::local},
       {"ld.param", InstructionClass::special},
       {"cp.async.ca", InstructionClass::async_copy},
       {"cp.async.cg", InstructionClass::async_copy},
       {"cp.async.bulk.commit", InstructionClass::control},
       {"cp.async.bulk.wait", InstructionClass::control},
       {"cp.async.bulk", InstructionClass::bulk_copy},
       {"cp.reduce.async.bulk", InstructionClass::bulk_copy},
       {"cp.async", InstructionClass::control},
       {"mbarrier.", InstructionClass::barrier},
       {"bar.", InstructionClass::barrier},
       {"barrier.", InstructionClass::barrier},
       {"bra", InstructionClass::control},
       {"ret", InstructionClass::control},
       {"exit", InstructionClass::control},
       {"setp.", InstructionClass::integer},
       {"cvt.rn", InstructionClass::other_float},
       {"cvt.f", InstructionClass::other_float},
       {"rcp", InstructionClass::special}}};
  for (const auto& [prefix, kind] : prefixes)
    if (opcode.starts_with(prefix)) return kind;
  if (opcode.starts_with("mov.") && operands.find("id.") != operands.npos) return InstructionClass::special;  // %tid.x
  return opcode.find(".f") == opcode.npos ? InstructionClass::integer : InstructionClass::other_float;
}

/// Bytes that a lane of an instruction of PTX moves to or from memory, by its vector and its type.
int ptx_access_bytes(std::string_view opcode, std::string_view operands, InstructionClass kind) {
  if (kind < InstructionClass::shared_load || kind > InstructionClass::async_copy) return 0;
  if (opcode.find("matrix") != opcode.npos) return 16;
  int number = 0;
  if (kind == InstructionClass::async_copy) {  // [to], [from], bytes
    operands.remove_prefix(std::min(operands.find("], ", operands.find("], ") + 1) + 3, operands.size()));
    return parse_number(operands.substr(0, operands.find(',')), number) ? number : 0;
  }
  const std::string_view type = opcode.substr(opcode.rfind('.') + 1);
  if (!parse_number(type.substr(1), number)) return 0;
  return number / 8 * (opcode.find(".v4.") != opcode.npos ? 4 : opcode.find(".v2.") != opcode.npos ? 2 : 1);
}

/// Whether it writes to global memory: UTMASTG and its like are bulk copies, as UTMALDG is.
bool stores_globally(const MachineInstruction& i) {
  if (i.kind != InstructionClass::bulk_copy) return i.kind == InstructionClass::global_store;
  return i.opcode.starts_with("UTMASTG") || i.opcode.starts_with("UTMAREDG") || i.opcode.starts_with("UBLKRED") ||
         i.opcode.starts_with("cp.reduce") || i.opcode.find(".global.shared") != i.opcode.npos;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, bool ptx) : text_(text), name_(name), ptx_(ptx) {}

  CompiledKernel parse() {
    while (next_line()) {
      if (line_.empty()) continue;
      if (line_.starts_with("# "))
        fact();
      else if (line_.starts_with("// "))
        source_line();
      else if (line_.front() == 'L' && line_.back() == ':')
        labels_[std::string(line_.substr(0, line_.size() - 1))] = static_cast<int>(kernel_.instructions.size());
      else if (ptx_ && line_.starts_with("  "))
        ptx_instruction();
      else if (!ptx_ && line_.starts_with("  B"))
        instruction();
      else
        fail("neither a fact, a source line, a label nor an instruction");
    }
    if (kernel_.instructions.empty()) fail("there are no instructions");
    for (const auto& [index, label] : branches_) {
      const auto target = labels_.find(label);
      if (target == labels_.end()) fail(fmt::format("there is no label {}", label));
      MachineInstruction& branch = kernel_.instructions[static_cast<std::size_t>(index)];
      branch.target = target->second;
      if (branch.target < index) kernel_.loops.push_back({branch.target, index});
    }
    std::sort(kernel_.loops.begin(), kernel_.loops.end(),
              [](const Loop& a, const Loop& b) { return std::pair(a.first, -a.last) < std::pair(b.first, -b.last); });
    return std::move(kernel_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw InvalidArgument(fmt::format("{}:{}: {}; script/compiled writes such a record", name_, number_, why));
  }

  bool next_line() {
    if (text_.empty()) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line_ = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++number_;
    return true;
  }

  void fact() {
    const std::size_t colon = line_.find(": ");
    if (colon == line_.npos) fail("a fact is written `# key: value`");
    const std::string_view key = line_.substr(2, colon - 2), value = line_.substr(colon + 2);
    const std::array<std::pair<std::string_view, std::string*>, 8> texts = {{{"id", &kernel_.id},
                                                                             {"kernel", &kernel_.kernel},
                                                                             {"tile", &kernel_.tile},
                                                                             {"type", &kernel_.type},
                                                                             {"architecture", &kernel_.architecture},
                                                                             {"compiler", &kernel_.compiler},
                                                                             {"source-hash", &kernel_.source_hash},
                                                                             {"problems", &kernel_.problems}}};
    for (const auto& [name, place] : texts)
      if (key == name) *place = value;
    const std::array<std::pair<std::string_view, int*>, 4> numbers = {{{"registers", &kernel_.registers},
                                                                       {"barriers", &kernel_.barriers},
                                                                       {"stack-bytes", &kernel_.stack_bytes},
                                                                       {"spilled-bytes", &kernel_.spilled_bytes}}};
    for (const auto& [name, place] : numbers)
      if (key == name && !parse_number(value, *place)) fail(fmt::format("{} is no number", value));
  }

  void source_line() {
    const std::size_t colon = line_.rfind(':');
    file_ = line_.substr(3, colon - 3);
    if (!parse_number(line_.substr(colon + 1), source_)) fail("a source line is written `// file:line`");
  }

  void instruction() {
    // "  B01----:R2:W-:Y:S04  0310  @P0 LDS.128 R4, [R2+0x10]"
    const std::size_t read = line_.find(":R"), write = line_.find(":W"), stall = line_.find(":S");
    const std::size_t offset = line_.find("  ", 2), code = offset == line_.npos ? offset : line_.find("  ", offset + 2);
    if (read != 9 || write == line_.npos || stall == line_.npos || code == line_.npos)
      fail("the control bits are not readable");
    MachineInstruction i;
    for (unsigned s = 0; s < 6; ++s)
      if (line_[3 + s] != '-') i.wait |= 1u << s;
    if (line_[read + 2] != '-') i.read_barrier = line_[read + 2] - '0';
    if (line_[write + 2] != '-') i.write_barrier = line_[write + 2] - '0';
    if (!parse_number(line_.substr(stall + 2, 2), i.stall)) fail("the stall count is no number");
    const std::string_view operands = take_text(i, line_.substr(code + 2));
    i.kind = class_of(i.opcode);
    i.bytes = access_bytes(i.opcode, i.kind);
    i.never = i.text.starts_with("@!PT ");
    if (i.opcode.starts_with("BRA")) {
      // `BRA P0, L1` and `BRA.U UP0, L1` have their condition among the operands.
      i.conditional |= operands.find(',') != operands.npos;
      branch(operands);
    }
    kernel_.instructions.push_back(std::move(i));
  }

  void ptx_instruction() {
    // "  @%p1 ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1+16]"
    MachineInstruction i;
    const std::string_view operands = take_text(i, line_.substr(2));
    i.kind = ptx_class_of(i.opcode, operands);
    i.bytes = ptx_access_bytes(i.opcode, operands, i.kind);
    if (i.opcode.starts_with("bra")) branch(operands);
    kernel_.instructions.push_back(std::move(i));
  }

  /// Everything that does not depend on what the opcodes mean; returns the operands.
  std::string_view take_text(MachineInstruction& i, std::string_view text) const {
    i.text = text;
    i.file = file_;
    i.line = source_;
    if (text.starts_with("@")) {
      i.conditional = true;
      text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    }
    i.opcode = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(i.opcode.size() + 1, text.size()));
    return text;
  }

  void branch(std::string_view operands) {
    const std::size_t label = operands.rfind('L');
    if (label == operands.npos) fail("a branch without a label");
    branches_.emplace_back(static_cast<int>(kernel_.instructions.size()), std::string(operands.substr(label)));
  }

  std::string_view text_, name_, line_;
  bool ptx_;
  int number_ = 0, source_ = 0;
  std::string file_;
  std::map<std::string, int> labels_;
  std::vector<std::pair<int, std::string>> branches_;
  CompiledKernel kernel_;
};

}  // namespace

const char* name_of(InstructionClass c) {
  constexpr std::array names = {"multiply-add", "tensor",       "other float", "integer",      "uniform",
                                "shared load",  "shared store", "global load", "global store", "async copy",
                                "barrier",      "control",      "special",     "bulk copy",    "local memory"};
  return names[static_cast<std::size_t>(c)];
}

double InstructionMix::all() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

double InstructionMix::products() const {
  const double tensor = (*this)[InstructionClass::tensor];
  return tensor > 0 ? tensor : (*this)[InstructionClass::fma];
}

std::vector<std::string_view> operands(const MachineInstruction& i) {
  std::vector<std::string_view> found;
  const std::size_t begin = i.text.find(i.opcode) + i.opcode.size();
  std::string_view rest = std::string_view(i.text).substr(begin);
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,"), rest.size()));
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end > 0) found.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return found;
}

std::ptrdiff_t CompiledKernel::count(const Loop& loop, InstructionClass kind) const {
  return std::count_if(instructions.begin() + loop.first, instructions.begin() + loop.last + 1,
                       [&](const MachineInstruction& i) { return i.kind == kind; });
}

const Loop* CompiledKernel::main_loop() const {
  // Tensor cores multiply what they can; the loop with most of the others' products is their epilogue.
  for (const InstructionClass product : {InstructionClass::tensor, InstructionClass::fma}) {
    const Loop* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Loop& loop : loops) {
      const std::ptrdiff_t products = count(loop, product);
      if (products > most &&
          std::none_of(instructions.begin() + loop.first, instructions.begin() + loop.last + 1, stores_globally)) {
        most = products;
        best = &loop;
      }
    }
    if (best) return best;
  }
  return nullptr;
}

const Loop* CompiledKernel::product_loop() const {
  const InstructionClass product = is_tensor() ? InstructionClass::tensor : InstructionClass::fma;
  const Loop* best = main_loop();
  for (const Loop& loop : loops)
    if (best && loop.first >= best->first && loop.last <= best->last &&
        2 * count(loop, product) > count(*best, product))
      best = &loop;
  return best;
}

int MachineInstruction::multiply_adds() const {
  if (kind == InstructionClass::fma) return 32;
  if (kind != InstructionClass::tensor) return 0;
  // HMMA.16816.F32.BF16 is 16 x 8 x 16, DMMA.884 is 8 x 8 x 4; HGMMA.64x256x16.F32.BF16.
  const std::size_t dot = opcode.find('.');
  std::string_view shape = dot == opcode.npos ? std::string_view() : std::string_view(opcode).substr(dot + 1);
  shape = shape.substr(0, shape.find('.'));
  int M = 0, N = 8, K = 0;
  if (const std::size_t x = shape.find('x'); x != shape.npos) {
    const std::size_t second = shape.find('x', x + 1);
    if (second == shape.npos || !parse_number(shape.substr(0, x), M) ||
        !parse_number(shape.substr(x + 1, second - x - 1), N) || !parse_number(shape.substr(second + 1), K))
      return 0;
    return opcode.find("GMMA") == opcode.npos ? M * N * K : M * N * K / 4;
  }
  M = shape.starts_with("16") ? 16 : 8;
  const std::size_t rest = M == 16 ? 3 : 2;
  return shape.size() > rest && parse_number(shape.substr(rest), K) ? M * N * K : 0;
}

bool CompiledKernel::is_tensor() const {
  const Loop* const loop = main_loop();
  return loop && count(*loop, InstructionClass::tensor) > 0;
}

bool CompiledKernel::is_warpgroup() const {
  return std::any_of(instructions.begin(), instructions.end(), [](const MachineInstruction& i) {
    return i.kind == InstructionClass::tensor && i.opcode.find("GMMA") != i.opcode.npos;
  });
}

CompiledKernel parse_sass(std::string_view text, std::string_view name) { return Parser(text, name, false).parse(); }
CompiledKernel parse_ptx(std::string_view text, std::string_view name) { return Parser(text, name, true).parse(); }

static std::optional<CompiledKernel> find_record(std::string_view id, std::string_view architecture, bool ptx) {
  const std::filesystem::path file = data_file(
      fmt::format("results/compiled/{}/{}.{}", architecture, id, ptx ? "ptx" : "sass"));
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::optional<std::string> text = read_file(file);
  if (!text) throw InvalidArgument(fmt::format("{} cannot be read", file.string()));
  return Parser(*text, file.string(), ptx).parse();
}

std::optional<CompiledKernel> find_compiled(std::string_view id, std::string_view architecture) {
  return find_record(id, architecture, false);
}

std::optional<CompiledKernel> find_ptx(std::string_view id, std::string_view architecture) {
  return find_record(id, architecture, true);
}

}  // namespace lapidary::model
