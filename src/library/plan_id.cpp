#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

#include "core/refusal.hpp"
#include "library/plan_data.hpp"

namespace lapidary::library {
namespace {

constexpr std::string_view version = "1";
constexpr std::size_t most_letters = 400;

char letter_of(Order order) { return order == Order::row_major ? 'R' : 'C'; }
constexpr std::string_view factor_letters = "zovm";  // in the order of Factor

/// What is left of an id, read from the left. Anything that is not as it should be makes it bad and reads as 0; what
/// was read is written again and held against the text, so that nothing has to be strict.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view next(char end) {
    // A number's sign ends none.
    const std::size_t at = rest_.find(end, rest_.starts_with('-') ? 1 : 0);
    const std::string_view field = rest_.substr(0, at);
    rest_ = at == rest_.npos ? std::string_view() : rest_.substr(at + 1);
    return field;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

template <class Integer>
Integer number(std::string_view text) {
  Integer value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

template <class Integer, std::size_t count>
std::array<Integer, count> numbers(std::string_view text, char between) {
  Fields fields(text);
  std::array<Integer, count> found{};
  for (Integer& value : found) value = number<Integer>(fields.next(between));
  return found;
}

Order order_of(std::string_view letters, std::size_t at) {
  return at < letters.size() && letters[at] == 'C' ? Order::column_major : Order::row_major;
}

Factor factor_of_letter(std::string_view letters, std::size_t at) {
  const std::size_t found = at < letters.size() ? factor_letters.find(letters[at]) : factor_letters.npos;
  return found == factor_letters.npos ? Factor::zero : static_cast<Factor>(found);
}

}  // namespace

Problem parse_product(std::string_view kind, std::string_view sizes) {
  Problem p;
  Fields fields(kind);
  const Type type = parse_type(fields.next('-'));
  std::string_view next = fields.next('-');
  Type result = GemmKind(type).result;
  if (!fields.rest().empty()) {
    result = parse_type(next);
    next = fields.next('-');
  }
  p.kind = {type, result, order_of(next, 0), order_of(next, 1)};
  p.order_d = order_of(next, 2);
  const auto [M, N, K] = numbers<std::int64_t, 3>(sizes, 'x');
  p.M = M;
  p.N = N;
  p.K = K;
  return p;
}

std::string kind_text(const Problem& p) {
  return fmt::format("{}{}-{}{}{}", name_of(p.kind.type),
                     p.kind.result == GemmKind(p.kind.type).result ? "" : fmt::format("-{}", name_of(p.kind.result)),
                     letter_of(p.kind.a), letter_of(p.kind.b), letter_of(p.order_d));
}

std::string to_string(const PlanId& id) {
  const Problem& p = id.problem;
  const auto letter = [](const char* letters, bool packs, bool prepared) {
    return packs ? std::string(1, letters[prepared ? 1 : 0]) : std::string();
  };
  const auto factor = [](Factor f) { return factor_letters[static_cast<std::size_t>(f)]; };
  std::string text = fmt::format("{}.{}.{}.{}x{}x{}.ld{}-{}-{}-{}{}.at{}-{}-{}-{}.{}{}{}", version, id.card,
                                 kind_text(p), p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldd,
                                 p.epilogue.residual ? fmt::format("-{}", p.ldr) : "", p.aligned.A, p.aligned.B,
                                 p.aligned.C, p.aligned.D, factor(p.alpha), factor(p.beta), p.in_place ? "i" : "");
  if (p.batch != Batch{})
    text += fmt::format(".n{}-{}-{}-{}-{}{}", p.batch.count, p.batch.stride_a, p.batch.stride_b, p.batch.stride_c,
                        p.batch.stride_d, p.epilogue.residual ? fmt::format("-{}", p.batch.stride_residual) : "");
  if (p.groups != 0) text += fmt::format(".g{}", p.groups);
  if (p.epilogue != Epilogue{}) text += fmt::format(".e{}", to_string(p.epilogue));
  return text + fmt::format(".{}.p{}{}{}{}{}", id.kernel.empty() ? "none" : id.kernel,
                            letter("aA", id.packs.a, id.prepared.a), letter("bB", id.packs.b, id.prepared.b),
                            id.parts == 1 ? "" : fmt::format("-k{}", id.parts), id.waits ? "-w" : "",
                            id.table.empty() ? "" : fmt::format("-t{}", id.table));
}

PlanId parse_plan_id(std::string_view text) {
  const auto refuse = [&] {
    throw Refusal(
        RefusalId::plan_id_form,
        fmt::format("'{}' is no plan's id; they are written as in "
                    "1.h200.f16-RCR.512x512x64.ld64-64-512-512.at16-16-16-16.vz.mma_multistage_128x256x32_s4_f16-RC.p",
                    text.substr(0, most_letters)));
  };
  if (text.size() > most_letters) refuse();
  Fields fields(text);
  PlanId id;
  Problem& p = id.problem;
  if (fields.next('.') != version) refuse();
  id.card = fields.next('.');
  const std::string_view kind = fields.next('.'), sizes = fields.next('.');
  try {
    p = parse_product(kind, sizes);
  } catch (const InvalidArgument&) {
    refuse();
  }
  const auto after = [](std::string_view field, std::size_t letters) {
    return field.size() < letters ? std::string_view() : field.substr(letters);
  };
  const auto ld = numbers<std::int64_t, 5>(after(fields.next('.'), 2), '-');
  const auto aligned = numbers<int, 4>(after(fields.next('.'), 2), '-');
  const std::string_view factors = fields.next('.');
  std::string_view kernel = fields.next('.'), epilogue;
  // Another one follows before the last one.
  const auto more = [&] { return fields.rest().find('.') != std::string_view::npos; };
  if (more() && kernel.starts_with('n')) {
    const auto batch = numbers<std::int64_t, 6>(after(kernel, 1), '-');
    p.batch = {batch[0], batch[1], batch[2], batch[3], batch[4], batch[5]};
    kernel = fields.next('.');
  }
  if (more() && kernel.starts_with('g')) {
    p.groups = number<int>(after(kernel, 1));
    kernel = fields.next('.');
  }
  if (more()) {
    epilogue = after(kernel, 1);
    kernel = fields.next('.');
  }
  Fields last(fields.rest());
  const std::string_view packs = last.next('-');
  if (last.rest().starts_with('k')) id.parts = number<int>(after(last.next('-'), 1));
  if (last.rest().starts_with('w')) id.waits = last.next('-') == "w";
  id.table = after(last.rest(), 1);
  const bool hexadecimal = id.table.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!id.table.empty() && (id.table.size() != 16 || !hexadecimal)) refuse();
  try {
    if (!epilogue.empty()) p.epilogue = parse_epilogue(epilogue);
  } catch (const InvalidArgument&) {
    refuse();
  }
  p.lda = ld[0];
  p.ldb = ld[1];
  p.ldc = ld[2];
  p.ldd = ld[3];
  p.ldr = ld[4];
  p.aligned = {aligned[0], aligned[1], aligned[2], aligned[3]};
  p.alpha = factor_of_letter(factors, 0);
  p.beta = factor_of_letter(factors, 1);
  p.in_place = factors.ends_with('i');
  id.kernel = kernel == "none" ? "" : kernel;
  id.prepared = {packs.find('A') != packs.npos, packs.find('B') != packs.npos};
  id.packs = {id.prepared.a || packs.find('a') != packs.npos, id.prepared.b || packs.find('b') != packs.npos};
  if (to_string(id) != text) refuse();
  return id;
}

}  // namespace lapidary::library
