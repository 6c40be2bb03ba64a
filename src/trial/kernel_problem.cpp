#include "trial/kernel_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <regex>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "trial/evaluate.hpp"
#include "trial/several_tiles.hpp"

namespace lapidary::trial {
namespace {

/// The value of alpha or beta: one that integers hold, too, and that tells it from the other one.
float factor_of(const Call& call, const std::string& role, const std::optional<float>& given, float usual,
                float untold) {
  if (!call.has(role)) {
    if (given)
      throw InvalidArgument(fmt::format("--{} is given, and {} has no such parameter", role, call.kernel->name));
    return untold;
  }
  static const std::regex integer = pattern(R"(\b(u?int\d*(_t)?|size_t|short|long|char|unsigned|signed)\b)");
  const auto place = std::find(call.roles.begin(), call.roles.end(), role) - call.roles.begin();
  const CudaParameter& parameter = call.kernel->parameters[static_cast<std::size_t>(place)];
  if (given && *given != std::trunc(*given) && std::regex_search(parameter.type, integer))
    throw InvalidArgument(fmt::format("--{} is {}; `{}` of {} is of type {}, which has whole numbers", role, *given,
                                      parameter.name, call.kernel->name, parameter.type));
  return given.value_or(usual);
}

}  // namespace

std::optional<Type> type_of(Element element) {
  if (element == Element::f64) return std::nullopt;
  return element == Element::f16 ? Type::f16 : element == Element::bf16 ? Type::bf16 : Type::f32;
}

bench::RandomProblem problem_of(const CudaSource& source, const Call& call, const Request& request) {
  bench::RandomProblem spec;
  Problem& p = spec.problem;
  const Problem usual = several_tiles(source, call, request);
  const std::int64_t side = request.n.value_or(request.m.value_or(request.k.value_or(usual.N)));
  p.M = request.m.value_or(call.square ? side : usual.M);
  p.N = request.n.value_or(call.square ? side : usual.N);
  p.K = request.k.value_or(call.square ? side : usual.K);
  const bool sizes_given = request.m || request.n || request.k;
  if (!call.constants.empty() && !sizes_given) {
    const auto own = [&](const char* role) {
      return evaluate(call.constants.at(role),
                      [&](const std::string& name) { return source.definitions().constant(name); });
    };
    const std::int64_t M = own("M"), N = own("N"), K = own("K");
    constexpr double quick = 1 << 24;  // multiply-adds, a second or two of the emulated machine
    if (M > 0 && N > 0 && K > 0 && static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K) <= quick)
      std::tie(p.M, p.N, p.K) = std::tuple(M, N, K);
  }
  if (call.square && (p.M != p.N || p.N != p.K))
    throw InvalidArgument(
        fmt::format("{} has one size: M, N and K must be equal, not {}", call.kernel->name, bench::sizes_of(p)));
  p.in_place = !call.has("D") || !call.has("C");
  p.kind = type_of(call.element(p.in_place ? "C" : "D")).value_or(Type::f32);
  spec.alpha = factor_of(call, "alpha", request.alpha, 2, 1);
  spec.beta = factor_of(call, "beta", request.beta, 3, 0);
  if (request.initial_c != InitialC::nan) {
    if (!p.in_place)
      throw InvalidArgument(fmt::format("--initial-c is given, and {} does not write to its C", call.kernel->name));
    const bool adds = request.initial_c == InitialC::numbers;
    if (adds && call.has("beta"))
      throw InvalidArgument(
          fmt::format("--initial-c numbers is for kernels that are given no beta, and {} is", call.kernel->name));
    if (!adds && spec.beta != 0)
      throw InvalidArgument(fmt::format("--initial-c zeros is for a beta of 0, and beta is {}", spec.beta));
    if (adds) spec.beta = 1;
  }
  spec.seed = static_cast<std::uint64_t>(request.seed);
  spec = bench::resolve(spec);
  if (p.M * p.N > std::int64_t{1} << 22 || p.M * p.N * p.K > std::int64_t{1} << 30)
    throw InvalidArgument(
        fmt::format("{} takes the emulated machine too long; stay below M N K = 2^30", bench::sizes_of(p)));
  return spec;
}

Gaps gaps_of(const Problem& p) { return {p.lda - p.K, p.ldb - p.N, p.ldc - p.N, p.ldd - p.N}; }

Operands operands_of(const Call& call, const Layouts& layouts, const Problem& problem, const Request& request,
                     const Gaps& gaps) {
  const auto storage = [&](const char* role, bool column_major, std::int64_t rows, std::int64_t cols, std::int64_t gap,
                           std::initializer_list<std::pair<const char*, std::optional<std::int64_t>>> leading) {
    const std::int64_t least = least_ld(column_major, rows, cols);
    Storage stored{call.element(role), column_major, least};
    for (const auto& [name, given] : leading) {
      if (call.has(name)) stored.ld = given.value_or(least + gap);
      if (given && !call.has(name))
        throw InvalidArgument(fmt::format("--{} is given, and {} has no such parameter", name, call.kernel->name));
      if (given && *given < least)
        throw InvalidArgument(fmt::format("--{} is {}; a {} of {} has {} elements, so that is the least", name, *given,
                                          column_major ? "column" : "row", role, least));
    }
    return stored;
  };
  Operands operands{storage("A", layouts.a, problem.M, problem.K, gaps.a, {{"lda", request.lda}}),
                    storage("B", layouts.b, problem.K, problem.N, gaps.b, {{"ldb", request.ldb}}),
                    {},
                    {},
                    request.sums};
  if (problem.in_place) {
    const bool named_d = call.has("ldd");
    operands.C = storage("C", layouts.c, problem.M, problem.N, named_d ? gaps.d : gaps.c,
                         {{"ldc", request.ldc}, {"ldd", request.ldd}});
    operands.D = operands.C;
  } else {
    operands.C = storage("C", layouts.c, problem.M, problem.N, gaps.c, {{"ldc", request.ldc}});
    operands.D = storage("D", layouts.c, problem.M, problem.N, gaps.d, {{"ldd", request.ldd}});
  }
  return operands;
}

}  // namespace lapidary::trial
