#include <fmt/format.h>

#include <optional>
#include <regex>
#include <set>
#include <string>

#include "core/pattern.hpp"
#include "trial/rewriting.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

#define LAPIDARY_ATTRIBUTES R"((?:(?:alignas|__align__|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)*)"
#define LAPIDARY_VECTOR R"(\b(?:u?(?:char|short|int|long|longlong)|float|double)[1-4](?:_\d+a)?\b)"

/// The innermost brackets {} that a place is in.
struct Block {
  std::size_t open;
  std::string head;  ///< back to the end of the statement or block before
};
std::optional<Block> enclosing_block(const std::string& code, std::size_t place) {
  for (std::size_t i = place, depth = 0; i-- > 0;) {
    if (code[i] == '}') ++depth;
    if (code[i] != '{' || depth-- > 0) continue;
    const std::size_t begin = i == 0 ? 0 : statement_begin(code, i - 1);
    return Block{i, code.substr(begin, i - begin)};
  }
  return {};
}

/// The name of the structure that a block is of: empty if it has none, nothing if it is another block.
std::optional<std::string> structure_of(const Block& block) {
  static const std::regex head = pattern(R"(\b(?:struct|class|union)\b\s*)" LAPIDARY_ATTRIBUTES R"((\w*)[^()]*$)");
  std::smatch found;
  if (!std::regex_search(block.head, found, head)) return {};
  return found[1].str();
}

/// Whether members of a union are of types that are assigned by an operator here and not in CUDA, as all may that are
/// neither the language's nor numbers of 16 bits and their pairs.
bool may_lack_assignment(const std::string& members) {
  static const std::regex plain = pattern(
      R"(\b(const|volatile|signed|unsigned|char|short|int|long|float|double|bool|u?int\d+_t|size_t|(__)?half2?|(__)?nv_bfloat162?)\b)");
  static const std::regex type = pattern(R"((^|;)\s*[A-Za-z_]\w*\s)");
  return find_word(members, "operator", 0) == members.npos &&
         std::regex_search(std::regex_replace(members, plain, ""), type);
}

void rewrite_unions(const std::string& code, std::vector<Edit>& edits) {
  static const std::regex head = pattern(R"(\bunion\b\s*)" LAPIDARY_ATTRIBUTES R"((\w*)\s*\{)");
  std::set<std::size_t> done;  // structures
  for (auto m = std::sregex_iterator(code.begin(), code.end(), head); m != std::sregex_iterator(); ++m) {
    const auto begin = static_cast<std::size_t>(m->position()), body = begin + static_cast<std::size_t>(m->length());
    const std::size_t end = behind_bracket(code, body - 1), next = skip_blanks(code, end);
    const std::string members = code.substr(body, end - body), name = (*m)[1].str();
    if (!may_lack_assignment(members)) continue;
    const auto assigned = [](const std::string& of) { return fmt::format("LAPIDARY_UNION({}) ", of); };
    if (!name.empty()) {
      edits.push_back({body, body, assigned(name)});
    } else if (next < code.size() && code[next] != ';') {
      const std::string given = fmt::format("lapidary_union_{}", begin);
      edits.push_back({body - 1, body, fmt::format("{} {{{}", given, assigned(given))});
    } else if (const auto block = enclosing_block(code, begin)) {
      // Its members are those of what it is in.
      const auto structure = structure_of(*block);
      if (!structure || structure->empty() || !done.insert(block->open).second) continue;
      const std::string all = code.substr(block->open, behind_bracket(code, block->open) - block->open);
      if (find_word(all, "operator", 0) == all.npos) edits.push_back({begin, begin, assigned(*structure)});
    }
  }
}

void rewrite_constants(const std::string& code, std::vector<Edit>& edits) {
  static const std::regex constant = pattern(
      R"(\bconstexpr(\s+(?:(?:static|inline|const|__device__|__constant__)\s+)*)" LAPIDARY_VECTOR ")");
  for (auto m = std::sregex_iterator(code.begin(), code.end(), constant); m != std::sregex_iterator(); ++m) {
    const auto begin = static_cast<std::size_t>(m->position());
    const auto block = enclosing_block(code, begin);
    std::string text = block && structure_of(*block) ? "inline " : "";
    if (find_word((*m)[1].str(), "const", 0) == std::string::npos) text += "const";
    edits.push_back({begin, begin + std::string("constexpr").size(), text});
  }
}

}  // namespace

std::vector<Edit> rewrite_vectors(const CudaText& source) {
  std::vector<Edit> edits;
  rewrite_unions(source.code(), edits);
  rewrite_constants(source.code(), edits);
  return edits;
}

}  // namespace lapidary::trial
