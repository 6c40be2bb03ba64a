#include "trial/inline_ptx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

/// Without blanks and continued lines at both ends.
std::string stripped(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r\\");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n\r\\") - begin + 1);
}

/// What stands between the quotes of a literal, with its escapes resolved.
std::string unescaped(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size())
      text += literal[i];
    else if (const char next = literal[++i]; next == 'n' || next == 't')
      text += next == 'n' ? '\n' : ' ';
    else
      text += next;
  }
  return text;
}

/// What stands between those brackets, taken apart.
struct Statement {
  std::string ptx;
  std::vector<std::string> operands;  ///< expressions, outputs first
};

Statement take_apart(std::string_view text) {
  Statement statement;
  int section = 0;  // instructions, outputs, inputs, clobbers
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      const std::size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (section == 0) statement.ptx += unescaped(text.substr(begin, i - begin));
    } else if (text[i] == ':') {
      ++section;
    } else if (text[i] == '(') {
      const std::size_t begin = i;
      for (int depth = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      std::string& operand = statement.operands.emplace_back(text.substr(begin, i + 1 - begin));
      for (char& c : operand)
        if (c == '\n' || c == '\\') c = ' ';  // the caller makes up for line breaks
    }
  }
  return statement;
}

/// The name of an instruction with its qualifiers in the order of the PTX ISA. ptxas takes them in any order, but for
/// those of one kind among each other: layouts, state spaces, types.
std::string in_order(const std::string& name) {
  static const std::array<std::regex, 12> kinds = {
      pattern("async"),
      pattern("sync"),
      pattern("aligned"),
      pattern("m\\d+n\\d+(k\\d+)?"),
      pattern("x\\d"),
      pattern("trans"),
      pattern("row|col"),
      pattern("satfinite"),
      pattern("c[ag]"),
      pattern("to"),
      pattern("(shared|global)(::\\w+)?"),
      pattern("L2::\\w+"),
  };
  const auto rank = [](const std::string& qualifier) {
    return std::find_if(kinds.begin(), kinds.end(),
                        [&](const std::regex& kind) { return std::regex_match(qualifier, kind); });
  };
  std::vector<std::string> parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '.');) parts.push_back(part);
  if (parts.size() > 1)
    std::stable_sort(parts.begin() + 1, parts.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return fmt::format("{}", fmt::join(parts, "."));
}

class Translator {
 public:
  explicit Translator(Statement statement) : statement_(std::move(statement)) {}

  std::string translated() {
    std::string code, instruction;
    const std::string ptx = std::regex_replace(statement_.ptx, std::regex("//[^\n]*"), "") + ";";
    for (const char c : ptx) {
      if (c != ';') {
        instruction += c;
        continue;
      }
      instruction = stripped(instruction);
      // The braces of a scope; those of a vector do not begin a statement.
      while (!instruction.empty() && (instruction[0] == '{' || instruction[0] == '}'))
        instruction = stripped(instruction.substr(1));
      if (!instruction.empty()) code += " " + translate(instruction);
      instruction.clear();
    }
    return "do {" + code + " } while (0)";
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument(fmt::format(
        "`{}` of inline PTX is not supported; ldmatrix, mma.sync, cp.async, cvta, cvt.u32.u64, mov and bar.sync 0 are",
        what));
  }

  /// The C++ of a register, a literal or an address with an offset.
  std::string value(const std::string& text) const {
    static const std::regex form = pattern(R"(\[?\s*(%?)(\w+)\s*(?:\+\s*(\w+)\s*)?\]?)");
    std::smatch match;
    const std::string operand = stripped(text);
    if (!std::regex_match(operand, match, form)) refuse(operand);
    std::string expression = match[2];
    const bool number = std::isdigit(static_cast<unsigned char>(expression[0])) != 0;
    if (match[1].length() > 0) {
      std::size_t place = statement_.operands.size();
      std::from_chars(expression.data(), expression.data() + expression.size(), place);
      if (place >= statement_.operands.size()) refuse(operand);
      expression = statement_.operands[place];
    } else if (!number) {
      if (std::find(registers_.begin(), registers_.end(), expression) == registers_.end()) refuse(operand);
      expression = "lapidary_" + expression;
    }
    return match[3].matched ? fmt::format("({} + {})", expression, match[3].str()) : expression;
  }
  /// Of the parts of `{a, b}`, or of an operand alone.
  std::vector<std::string> values(std::string text) const {
    std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
    std::vector<std::string> all;
    for (const std::string& part : split_arguments(text)) all.push_back(value(part));
    return all;
  }

  static std::string assign(const std::vector<std::string>& to) {
    std::string code;
    for (std::size_t i = 0; i < to.size(); ++i)
      code += fmt::format(" {0} = ::lapidary::bits_as<std::remove_reference_t<decltype({0})>>(lapidary_d[{1}]);", to[i],
                          i);
    return code;
  }

  std::string translate(const std::string& text) {
    const std::size_t blank = std::min(text.find_first_of(" \t\n"), text.size());
    const std::string written = text.substr(0, blank), name = in_order(written);
    const std::vector<std::string> operands = split_arguments(text.substr(blank));  // a vector is one
    const auto takes = [&](std::size_t least, std::size_t most) {
      if (operands.size() < least || operands.size() > most) refuse(text);
    };
    static const std::regex registers = pattern(R"(\.reg\s+\.[bus](32|64)\s+([\w\s,]+))");
    static const std::regex ldmatrix = pattern(
        R"(ldmatrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(::cta)?\.b16)");
    static const std::regex cp_async = pattern(R"(cp\.async\.(ca|cg)\.shared(::cta)?\.global(\.L2::\w+)?)");
    std::smatch match;
    if (std::regex_match(text, match, registers)) {
      std::string code;
      for (const std::string& one : split_arguments(match[2].str())) {
        registers_.push_back(one);
        code += fmt::format("std::uint{}_t lapidary_{}{{}};", match[1].str(), one);
      }
      return code;
    }
    if (std::regex_match(name, match, ldmatrix)) {
      takes(2, 2);
      const std::vector<std::string> to = values(operands[0]);
      if (std::to_string(to.size()) != match[1]) refuse(text);
      return fmt::format(
          "{{ std::uint32_t lapidary_d[{0}]; ::lapidary::ldmatrix<{0}, {1}>(lapidary_d, ::lapidary::shared_pointer({2}));{3} "
          "}}",
          to.size(), match[2].matched, value(operands[1]), assign(to));
    }
    if (name.starts_with("mma.sync.")) {
      takes(4, 4);
      return multiply(written, operands);
    }
    if (std::regex_match(name, match, cp_async)) {
      takes(3, 4);
      // PTX ISA, "cp.async": .cg copies 16 bytes, .ca 4, 8 or 16.
      return fmt::format(
          "static_assert({3} || ({0}) == 16, \"cp.async.cg copies 16 bytes, cp.async.ca 4, 8 or 16\");"
          "::lapidary::cp_async<{0}>(::lapidary::shared_pointer({1}), (const void*)({2}), {4});",
          value(operands[2]), value(operands[0]), value(operands[1]), match[1] == "ca", value(operands.back()));
    }
    if (name == "cp.async.commit_group") return "::lapidary::cp_async_commit_group();";
    if (name == "cp.async.wait_group" && operands.size() == 1)
      return fmt::format("::lapidary::emulator::abi::async_wait_group({});", value(operands[0]));
    if (name == "cp.async.wait_all")
      return "::lapidary::cp_async_commit_group(); ::lapidary::emulator::abi::async_wait_group(0);";
    if (text == "bar.sync 0") return "__syncthreads();";
    const bool conversion = name == "cvta.to.shared.u64" || name == "cvt.u32.u64";
    if (conversion || name == "mov.b32" || name == "mov.u32" || name == "mov.b64" || name == "mov.u64") {
      takes(2, 2);
      const std::string to = value(operands[0]), from = value(operands[1]);
      if (name == "cvta.to.shared.u64")
        return fmt::format("{} = ::lapidary::shared_address((const void*)({}));", to, from);
      return name == "cvt.u32.u64" ? fmt::format("{} = static_cast<std::uint32_t>({});", to, from)
                                   : fmt::format("{} = {};", to, from);
    }
    refuse(written);
  }

  std::string multiply(const std::string& written, const std::vector<std::string>& operands) const {
    static const std::regex form = pattern(
        R"(mma\.sync\.aligned\.m(\d+)n(\d+)k(\d{1,4})\.row\.col(\.satfinite)?\.(\w+)\.(\w+)\.(\w+)\.(\w+))");
    struct Number {
      const char* type;
      std::vector<int> depths;  ///< of m16n8
    };
    static const std::map<std::string, Number> numbers = {{"f16", {"::lapidary::f16", {8, 16}}},
                                                          {"bf16", {"::lapidary::bf16", {8, 16}}},
                                                          {"tf32", {"::lapidary::tf32", {4, 8}}},
                                                          {"e4m3", {"::lapidary::e4m3", {32}}},
                                                          {"e5m2", {"::lapidary::e5m2", {32}}},
                                                          {"s8", {"std::int8_t", {16, 32}}},
                                                          {"u8", {"std::uint8_t", {16, 32}}},
                                                          {"s32", {"std::int32_t", {}}},
                                                          {"f32", {"float", {}}}};
    const std::string name = in_order(written);
    std::smatch match;
    if (!std::regex_match(name, match, form) || match[5] != match[8]) refuse(written);
    const auto number = [&](std::size_t place) {
      const auto found = numbers.find(match[place]);
      if (found == numbers.end()) refuse(written);
      return found->second;
    };
    const auto type = [&](std::size_t place) { return number(place).type; };
    const std::vector<int> depths = number(6).depths;
    if (match[1] != "16" || match[2] != "8" ||
        std::find(depths.begin(), depths.end(), std::stoi(match[3])) == depths.end())
      throw InvalidArgument(fmt::format("`{}` is no instruction: of {} there are m16n8k{}", written, match[6].str(),
                                        fmt::join(depths, " and m16n8k")));
    const auto list = [&](const std::string& operand, const char* as) {
      std::vector<std::string> all = values(operand);
      for (std::string& one : all) one = fmt::format("::lapidary::bits_as<Form::{}>({})", as, one);
      return fmt::format("{}", fmt::join(all, ", "));
    };
    const std::vector<std::string> d = values(operands[0]);
    return fmt::format(
        "{{ using Form = ::lapidary::Mma<{}, {}, {}, {}, {}, {}, {}>; static_assert(Form::d_registers == {} && "
        "Form::a_registers == {} && Form::b_registers == {}, \"the number of registers\"); Form::Accumulator "
        "lapidary_d[{}]; ::lapidary::mma_sync<Form>(lapidary_d, {{{}}}, {{{}}}, {{{}}});{} }}",
        type(6), type(7), type(5), match[1].str(), match[2].str(), match[3].str(), match[4].matched, d.size(),
        values(operands[1]).size(), values(operands[2]).size(), d.size(), list(operands[1], "Register"),
        list(operands[2], "Register"), list(operands[3], "Accumulator"), assign(d));
  }

  Statement statement_;
  std::vector<std::string> registers_;  ///< that the statement declares
};

}  // namespace

std::string translate_inline_ptx(std::string_view statement) { return Translator(take_apart(statement)).translated(); }

}  // namespace lapidary::trial
