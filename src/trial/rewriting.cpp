#include "trial/rewriting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string_view>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/pattern.hpp"
#include "trial/inline_ptx.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {

std::string edited(const std::string& text, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < done) continue;
    out.append(text, done, edit.begin - done).append(edit.text);
    done = edit.end;
  }
  return out.append(text, done);
}

SharedRewriting rewrite_shared(const CudaText& source) {
  const std::string& code = source.code();
  SharedRewriting rewriting;
  static const std::regex words = pattern(
      R"(\b(extern|static|__shared__|__align__\s*\([^)]*\)|alignas\s*\([^)]*\))(?!\w))");
  for (std::size_t place = find_word(code, "__shared__", 0); place != code.npos;
       place = find_word(code, "__shared__", place + 1)) {
    const std::size_t begin = skip_blanks(code, statement_begin(code, place));
    std::size_t end = place;
    while (end < code.size() && code[end] != ';') end = code[end] == '{' ? behind_bracket(code, end) : end + 1;
    if (end == code.size()) return rewriting;
    const std::string statement = code.substr(begin, end - begin);
    const bool is_extern = find_word(statement, "extern", 0) != statement.npos;
    const std::vector<std::string> parts = split_arguments(std::regex_replace(statement, words, ""));
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string declarator = without_extents(parts[i]);
      const std::string extents = parts[i].substr(declarator.size());
      std::size_t name_begin = declarator.size();
      while (name_begin > 0 && is_word(declarator[name_begin - 1])) --name_begin;
      const std::string name = declarator.substr(name_begin), type = trimmed(declarator.substr(0, name_begin));
      if (is_extern) {
        text += source.outside_of_functions(begin)
                    ? fmt::format("static constexpr ::lapidary::DynamicShared<{}> {}{{}}", type, name)
                    : fmt::format("{}* const {} = ::lapidary::DynamicShared<{}>{{}}", type, name, type);
      } else {
        text += fmt::format("{}{} (&{}){} = ::lapidary::Shared<{}>{{\"{}\"}}", i ? ", " : "", i ? "" : type, name,
                            extents, rewriting.sites.size(), name);
        rewriting.sites.push_back(place);
      }
    }
    const auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
    text.append(static_cast<std::size_t>(std::max(lines(statement) - lines(text), std::ptrdiff_t{0})), '\n');
    rewriting.edits.push_back({begin, end, std::move(text)});
    place = end;
  }
  return rewriting;
}

// The statement of a macro keeps its line breaks escaped.
std::vector<Edit> rewrite_inline_ptx(const CudaText& source) {
  const std::string& text = source.uncommented();
  std::vector<Edit> edits;
  static const std::regex head = pattern(R"(\b(asm|__asm__|__asm)\s*(volatile|__volatile__)?\s*\()");
  const std::string plain = without_strings(text);
  for (auto m = std::sregex_iterator(plain.begin(), plain.end(), head); m != std::sregex_iterator(); ++m) {
    const auto begin = static_cast<std::size_t>(m->position());
    const std::size_t open = begin + static_cast<std::size_t>(m->length()) - 1, end = behind_bracket(plain, open);
    try {
      std::string code = translate_inline_ptx(std::string_view(text).substr(open + 1, end - open - 2));
      const char* const line_break = is_blank(source.code()[begin]) ? " \\\n" : "\n";
      for (auto i = std::count(text.begin() + m->position(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
           i > 0; --i)
        code += line_break;
      edits.push_back({begin, end, std::move(code)});
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}:{}: {}", source.path(), source.line_of(begin), error.what()));
    }
  }
  return edits;
}

std::vector<Edit> empty_host_functions(const CudaText& source) {
  const std::string& code = source.code();
  std::vector<Edit> edits;
  static const std::regex runtime = pattern(R"(<<<|\b(cuda[A-Z]|cublas|curand|CUDA_|CHECK))");
  static const std::regex type = pattern(R"(^\s*(?:template\s*<[^{]*>\s*)?(struct|class|union|enum|typedef)\b)");
  for (const Body& one : find_bodies(code)) {
    const std::string header = code.substr(one.begin, one.open - one.begin);
    const std::string body = code.substr(one.open, one.end - one.open);
    const bool function = header.find('(') != header.npos;
    const bool device = find_word(header, "__global__", 0) != header.npos ||
                        find_word(header, "__device__", 0) != header.npos;
    if (function && !device && !std::regex_search(header, type) &&
        (find_word(header, "main", 0) != header.npos || std::regex_search(body, runtime))) {
      edits.push_back(
          {one.open, one.end,
           "{" + std::string(static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n')), '\n') + "}"});
    }
  }
  return edits;
}

HeaderRewriting rewrite_headers(const CudaText& source) {
  const std::string& text = source.uncommented();
  HeaderRewriting rewriting;
  static const std::regex include = pattern(R"((^|\n)[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">])");
  static const std::regex unsupported = pattern(
      R"(cooperative_groups.*|cuda/.*|cuda_(pipeline|fp8|fp6|fp4|awbarrier).*)");
  static const std::regex host = pattern(R"((curand|cusparse|cusolver|cuda_profiler|nvToolsExt|thrust|cub/|nvml).*)");
  for (auto m = std::sregex_iterator(text.begin(), text.end(), include); m != std::sregex_iterator(); ++m) {
    const std::string name = (*m)[3];
    const std::size_t begin = static_cast<std::size_t>(m->position()) + (*m)[1].str().size();
    if (std::regex_match(name, unsupported))
      throw InvalidArgument(
          fmt::format("{}:{}: <{}> is not supported; cuda_runtime.h, cuda_fp16.h, cuda_bf16.h and mma.h are",
                      source.path(), source.line_of(begin), name));
    const std::filesystem::path beside = std::filesystem::path(source.path()).parent_path() / name;
    const bool missing = (*m)[2] == "\"" && !std::filesystem::exists(beside) && !name.starts_with("cuda");
    if ((*m)[2] == "\"" && !missing) {
      const std::string included = read_file(beside).value_or("");
      if (find_word(without_comments(included), "__global__", 0) != included.npos)
        rewriting.with_kernels.push_back(beside.string());
    }
    if (missing || std::regex_match(name, host))
      rewriting.edits.push_back({begin, static_cast<std::size_t>(m->position() + m->length()), ""});
  }
  return rewriting;
}

}  // namespace lapidary::trial
