#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>

#include "core/refusal.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "library/canonical.hpp"
#include "library/kernel_cost.hpp"
#include "library/plan_data.hpp"

namespace lapidary {
namespace {

/// What a choice is found by.
std::string key_of(const Problem& p) {
  const std::string epilogue = p.epilogue == Epilogue{} ? "" : fmt::format(".{}", to_string(p.epilogue));
  return fmt::format("{} {}x{}x{}{}", library::kind_text(p), p.M, p.N, p.K, epilogue);
}

/// The product of a line, of factors that any types may have. @throws InvalidArgument if there is none
Problem product_of_line(std::string_view types, std::string_view sizes) {
  const std::size_t point = sizes.find('.');
  Problem p = library::parse_product(types, sizes.substr(0, point));
  if (point != sizes.npos) p.epilogue = parse_epilogue(sizes.substr(point + 1));
  p.alpha = Factor::one;
  p.beta = Factor::zero;
  validate(resolved(p));
  return p;
}

bool are_three_numbers(std::string_view sizes) {
  for (int left = 3; left > 0; --left) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(sizes.data(), sizes.data() + sizes.size(), number);
    if (error != std::errc{} || number < 0) return false;
    sizes.remove_prefix(static_cast<std::size_t>(end - sizes.data()));
    if (left > 1 && !sizes.starts_with('x')) return false;
    if (left > 1) sizes.remove_prefix(1);
  }
  return sizes.empty();
}

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view blanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

ChoiceTable::ChoiceTable(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::vector<std::pair<std::string, Entry>> planned;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    line = line.substr(0, line.find('#'));
    std::array<std::string_view, 5> word;  // one more than there should be
    for (std::string_view& next : word) next = next_word(line);
    const auto& [types, sizes, kernel, packs, more] = word;
    if (types.empty()) continue;
    const auto refuse = [&](RefusalId broken, const std::string& why) {
      throw Refusal(broken, fmt::format("line {} of the table of choices {}; one is written as in "
                                        "f16-RCR 4096x4096x64 wgmma_staged_128x256x64_s4_e2x64_f16-RC a",
                                        number, why));
    };
    const bool known_packs = packs.empty() || packs == "a" || packs == "b" || packs == "ab";
    if (kernel.empty() || !more.empty() || !known_packs) refuse(RefusalId::table_form, "is no choice");
    const KernelEntry* known = nullptr;
    try {
      known = &find_kernel(kernel);
    } catch (const InvalidArgument& unknown) {
      refuse(RefusalId::kernel_unknown, fmt::format("has no kernel: {}", unknown.what()));
    }
    const std::string key = fmt::format("{} {}", types, sizes);
    Problem product;
    std::string legal;
    try {
      product = product_of_line(types, sizes);
      legal = key_of(product);
    } catch (const InvalidArgument& unknown) {
      refuse(RefusalId::table_form, fmt::format("has no product, as {}", unknown.what()));
    }
    if (!are_three_numbers(sizes.substr(0, sizes.find('.'))))
      refuse(RefusalId::table_form, fmt::format("has the sizes {}, which are not three numbers below 2^63", sizes));
    if (key != legal) refuse(RefusalId::table_form, fmt::format("has {} where {} would be a product", key, legal));
    if (!library::library_kernel(*known))
      refuse(RefusalId::kernel_lesson, fmt::format("has {}, a lesson, which the library does not choose", kernel));
    // Sums of f32 may become results of 16 bits in a second launch.
    const bool stores = known->kind.result == product.kind.result ||
                        (known->kind.result == Type::f32 && size_of(product.kind.result) == 2);
    if (known->kind.type != product.kind.type || !stores)
      refuse(RefusalId::kernel_type, fmt::format("has {}, which computes {} products", kernel, to_string(known->kind)));
    const Entry entry = {std::string(kernel), {packs.find('a') != packs.npos, packs.find('b') != packs.npos}};
    if (!entries_.emplace(key, entry).second)
      refuse(RefusalId::table_twice, fmt::format("is the second one for {}", key));
    planned.emplace_back(key_of(library::with_plain_lines(resolved(product))), entry);
    for (const char letter : fmt::format("{} {} {}\n", key, kernel, packs))
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  // A matrix of a single line is planned as one of either order, for which there may be a line of its own.
  for (const auto& [key, entry] : planned) entries_.emplace(key, entry);
  hash_ = fmt::format("{:016x}", hash);
}

const ChoiceTable::Entry* ChoiceTable::find(const Problem& problem) const {
  if (problem.batch.count != 1 || problem.groups != 0) return nullptr;
  const auto found = entries_.find(key_of(problem));
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace lapidary
