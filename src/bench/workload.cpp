#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "bench/run.hpp"
#include "core/error.hpp"

namespace lapidary::bench {
namespace {

constexpr const char* line_form =
    "a line is M N K, then the orders of A and B if need be (RR, RC, CR or CC), how many products as in x64, or groups of "
    "rows as in g64 of equal ones and u64 of uneven ones, and a label";

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line.substr(0, line.find('#')))};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

std::optional<std::int64_t> size_of_word(std::string_view word) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc() || end != word.data() + word.size() || size < 1 || size > most_timed_size) return {};
  return size;
}

std::optional<Orders> orders_of_word(std::string_view word) {
  if (word.size() != 2 || word.find_first_not_of("RC") != word.npos) return {};
  const auto order = [](char letter) { return letter == 'R' ? Order::row_major : Order::column_major; };
  return Orders{order(word[0]), order(word[1])};
}

bool is_separator(char c) { return c == ',' || c == ';' || c == '/' || c == '-'; }

/// Whether a word is orders that someone wrote in another way, as BLAS does, in small letters or with a comma, and no
/// label.
bool is_like_orders(std::string_view word) {
  std::string letters;
  std::copy_if(word.begin(), word.end(), std::back_inserter(letters), [](char c) { return !is_separator(c); });
  if (letters.size() == 2 && word.size() <= 3 && letters.find_first_not_of("RCNTrcnt") == letters.npos) return true;
  return !word.empty() && word.size() <= 3 && word.find_first_not_of("RC") == word.npos;
}
bool is_number(std::string_view word) {
  return word.find_first_not_of("+-.0123456789") == word.npos && word.find_first_of("0123456789") != word.npos;
}
/// "x64", of products, "g64" and "u64", of groups.
bool is_count(std::string_view word) {
  return word.size() > 1 && std::string_view("xgu").find(word[0]) != std::string_view::npos &&
         word.find_first_not_of("0123456789", 1) == word.npos;
}
bool is_text(std::string_view line) {
  return std::none_of(line.begin(), line.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
}

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Up to a line feed, a carriage return or both.
bool next_line(std::istream& list, std::string& line) {
  line.clear();
  for (char c = 0; list.get(c);) {
    if (c == '\r' && list.peek() == '\n') list.get(c);
    if (c == '\n' || c == '\r') return true;
    line += c;
  }
  return !line.empty();
}

TimedProblem parse_line(const std::vector<std::string>& words) {
  if (words.size() < 3) throw InvalidArgument(fmt::format("there are {} words of at least 3", words.size()));
  std::array<std::int64_t, 3> sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::optional<std::int64_t> size = size_of_word(words[i]);
    if (!size)
      throw InvalidArgument(
          fmt::format("{} is '{}', which is no whole number from 1 to {}", "MNK"[i], words[i], most_timed_size));
    sizes[i] = *size;
  }
  TimedProblem problem{.M = sizes[0], .N = sizes[1], .K = sizes[2]};
  std::size_t next = 3;
  if (next < words.size()) {
    problem.orders = orders_of_word(words[next]);
    if (!problem.orders && is_like_orders(words[next]))
      throw InvalidArgument(fmt::format("the orders of A and B are '{}'; there are RR, RC, CR, CC", words[next]));
    if (problem.orders)
      ++next;
    else if (is_number(words[next]))
      throw InvalidArgument(fmt::format("there is a fourth number, '{}'", words[next]));
  }
  if (next < words.size() && is_count(words[next])) {
    const char kind = words[next][0];
    const std::optional<std::int64_t> count = size_of_word(std::string_view(words[next]).substr(1));
    if (!count)
      throw InvalidArgument(fmt::format("there are '{}' {}, which is no whole number from {}1 to {}{}", words[next],
                                        kind == 'x' ? "products" : "groups", kind, kind, most_timed_size));
    if (kind == 'x') {
      problem.products = *count;
    } else {
      problem.groups = static_cast<int>(*count);
      problem.uneven = kind == 'u';
    }
    ++next;
  }
  for (; next < words.size(); ++next) problem.label += (problem.label.empty() ? "" : " ") + words[next];
  return problem;
}

/// A rung's kernels of a kind: its default one, or all.
void add_kernels(std::vector<Entry>& entries, const Rung& rung, const GemmKind& kind, bool all_tiles) {
  const KernelEntry& first = rung.kernel(kind);
  for (const KernelEntry& kernel : rung.kernels)
    if (&kernel == &first || (all_tiles && kernel.kind == kind)) entries.push_back({&rung, &kernel});
}

bool has_types(const Rung& rung, const GemmKind& kind) {
  return std::any_of(rung.kernels.begin(), rung.kernels.end(), [&](const KernelEntry& kernel) {
    return kernel.kind.type == kind.type && kernel.kind.result == kind.result;
  });
}

std::string why_not(const Rung& rung, const GemmKind& kind) {
  try {
    rung.kernel(kind);
  } catch (const InvalidArgument& refusal) {
    return refusal.what();
  }
  return {};
}

class Chooser {
 public:
  Chooser(const KernelChoice& choice, const DeviceProperties& card) : choice_(choice), card_(card) {
    for (const std::string& name : choice.names) rungs_.push_back(&find_rung(name));
    if (rungs_.empty())
      for (const Rung& rung : ladder()) rungs_.push_back(&rung);
  }

  Task choose(const TimedProblem& problem, std::vector<LeftOut>& left_out) const {
    Task task{problem, {}};
    for (const Rung* const rung : rungs_) add(*rung, task, left_out);
    return task;
  }

 private:
  bool named() const { return !choice_.names.empty(); }

  /// The kinds of a rung that a problem could be of, if the rung has them.
  std::vector<GemmKind> kinds(const Rung& rung, const std::optional<Orders>& orders) const {
    std::vector<GemmKind> kinds;
    for (GemmKind kind : choice_.kinds.empty() ? std::vector{rung.kernels.front().kind} : choice_.kinds) {
      if (orders) {
        kind.a = orders->a;
        kind.b = orders->b;
      }
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    return kinds;
  }

  void add(const Rung& rung, Task& task, std::vector<LeftOut>& left_out) const {
    const TimedProblem& problem = task.problem;
    const std::vector<GemmKind> all = kinds(rung, problem.orders);
    const auto leave_out = [&](const GemmKind& kind) {
      left_out.push_back({std::string(rung.name()), kind, problem.M, problem.N, problem.K, why_not(rung, kind)});
    };
    bool considered = false;
    for (const GemmKind& kind : all) {
      if (rung.has(kind)) {
        considered = true;
        if (named()) require_support(rung, kind, card_);
        if (rung.runs_on(card_.compute_capability, kind)) add_kernels(task.entries, rung, kind, choice_.all_tiles);
      } else if (problem.orders && has_types(rung, kind)) {
        considered = true;
        if (named() || rung.runs_on(card_.compute_capability, kind)) leave_out(kind);
      }
    }
    // One that was not named and has none of the types is not meant.
    if (named() && !considered) leave_out(all.front());
  }

  const KernelChoice& choice_;
  const DeviceProperties& card_;
  std::vector<const Rung*> rungs_;
};

}  // namespace

std::string sizes_text(std::int64_t M, std::int64_t N, std::int64_t K) {
  return M == N && N == K ? fmt::format("{}", M) : fmt::format("{}x{}x{}", M, N, K);
}

std::vector<TimedProblem> parse_problems(std::istream& list, std::string_view file) {
  std::vector<TimedProblem> problems;
  int number = 0;
  for (std::string line; next_line(list, line);) {
    if (++number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    try {
      if (!is_text(line)) throw InvalidArgument("there are control characters in it");
      problems.push_back(parse_line(words));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}:{}: {}; {}", file, number, error.what(), line_form));
    }
  }
  if (list.bad())
    throw InvalidArgument(fmt::format("{} cannot be read; it is to be a list of problems, {}", file, line_form));
  if (problems.empty()) throw InvalidArgument(fmt::format("{} has no problem in it; {}", file, line_form));
  return problems;
}

std::vector<TimedProblem> read_problems(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw InvalidArgument(fmt::format("{} cannot be read; it is to be a list of problems, {}", path, line_form));
  return parse_problems(file, path);
}

Workload choose_kernels(const KernelChoice& choice, std::span<const TimedProblem> problems,
                        const DeviceProperties& card) {
  const Chooser chooser(choice, card);
  Workload workload;
  bool any = false;
  for (const TimedProblem& problem : problems) {
    workload.tasks.push_back(chooser.choose(problem, workload.left_out));
    any |= !workload.tasks.back().entries.empty();
  }
  if (any) return workload;
  if (!choice.names.empty() && !workload.left_out.empty()) throw InvalidArgument(workload.left_out.front().why);
  throw InvalidArgument("no kernel has this type and these orders and runs on this device; see lapidary list");
}

}  // namespace lapidary::bench
