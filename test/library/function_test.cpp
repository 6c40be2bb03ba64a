// A product whose results a function of the caller's makes, in the kernel that multiplies.
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "library/elements.hpp"
#include "library/library_target.hpp"

namespace lapidary {

#define LAPIDARY_TEST_DECLARE(build)                                                     \
  namespace build {                                                                      \
  Prepared prepare_mixed(const Problem& problem, const Card& card, const float* addend); \
  }
LAPIDARY_TEST_DECLARE(plain)
LAPIDARY_TEST_DECLARE(instrumented)
LAPIDARY_TEST_DECLARE(gpu)

namespace {

Prepared prepare_mixed(Build build, const Problem& problem, const Card& card, const float* addend) {
#if LAPIDARY_WITH_CUDA
  if (build == Build::gpu) return gpu::prepare_mixed(problem, card, addend);
#endif
#if LAPIDARY_WITH_INSTRUMENTED
  if (build == Build::instrumented) return instrumented::prepare_mixed(problem, card, addend);
#endif
  return plain::prepare_mixed(problem, card, addend);
}

class Function : public test::LibraryTarget {};
INSTANTIATE_TEST_SUITE_P(On, Function, testing::ValuesIn(test::library_targets()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Function, IsCalledOnceForEachElement) {
  constexpr int M = 131, N = 264, K = 72;
  const auto element = [](int i) { return static_cast<float>(i % 5 - 2); };
  std::vector<float> a(M * K), b(K * N), addend(M);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = element(static_cast<int>(i * i % 97));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = element(static_cast<int>(i * 7 % 101));
  for (int i = 0; i < M; ++i) addend[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const DeviceBuffer A(device(), a.size() * 2, "A"), B(device(), b.size() * 2, "B"), D(device(), M * N * 2, "D"),
      sums(device(), M * sizeof(float), "addend");
  test::upload_as(device(), A.data(), Type::f16, a);
  test::upload_as(device(), B.data(), Type::f16, b);
  device().upload(sums.data(), addend.data(), sums.bytes());
  const Problem problem = {
      .kind = {Type::f16, Type::f16, Order::row_major, Order::column_major}, .M = M, .N = N, .K = K};
  const Stream stream = device().stream();
  const auto* const added = static_cast<const float*>(sums.data());
  const Card card = card_of(stream);
  if (card.compute_capability != 90) GTEST_SKIP() << "wgmma is of sm_90a alone";
  prepare_mixed(build_for(stream), problem, card, added).launch(stream, {.A = A.data(), .B = B.data(), .D = D.data()});
  device().synchronize();
  const std::vector<float> found = test::download_of(device(), D.data(), Type::f16, M * N);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[static_cast<std::size_t>(i * K + k)] * b[static_cast<std::size_t>(j * K + k)];
      ASSERT_EQ(found[static_cast<std::size_t>(i * N + j)], j % 2 == 0 ? sum + static_cast<float>(i) : 2 * sum)
          << i << ", " << j;
    }
}

TEST(FunctionRefusals, NameTheRule) {
  const auto refused = [](Problem problem, Card card) -> std::string {
    try {
      plain::prepare_mixed(problem, card, nullptr);
    } catch (const Refusal& refusal) {
      return refusal.id();
    }
    return "";
  };
  const Problem fine = {.kind = {Type::f16, Type::f16, Order::row_major, Order::column_major}, .M = 1, .N = 8, .K = 8};
  const auto with = [&](auto change) {
    Problem p = fine;
    change(p);
    return p;
  };
  EXPECT_EQ(refused(fine, {90, 132}), "");
  EXPECT_EQ(refused(fine, {80, 108}), "kernel.card");
  EXPECT_EQ(refused(with([](Problem& p) { p.kind.b = Order::row_major; }), {90, 132}), "kernel.type");
  EXPECT_EQ(refused(with([](Problem& p) { p.N = 9; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.epilogue.activation = Activation::relu; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.M = -1; }), {90, 132}), "shape.size");
  EXPECT_EQ(refused(with([](Problem& p) { p.order_d = Order::column_major; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.batch = {2, 0, 0, 0, 64}; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.alpha = Factor::in_device_memory; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.groups = 2; }), {90, 132}), "unsupported.groups");
  EXPECT_EQ(refused(with([](Problem& p) { p.scaling = Scaling::blocks; }), {90, 132}), "unsupported.scaling");
  EXPECT_EQ(refused(with([](Problem& p) { p.split = 2; }), {90, 132}), "unsupported.split");
  EXPECT_EQ(refused(with([](Problem& p) { p.K = 0; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(with([](Problem& p) { p.M = p.N = std::int64_t{1} << 30; }), {90, 132}), "kernel.problem");
  EXPECT_EQ(refused(fine, {90, 1}), "card.multiprocessors");
  EXPECT_EQ(refused(fine, {90, 2}), "");
  for (const bool rows : {true, false}) {
    const Problem none = with([&](Problem& p) { (rows ? p.M : p.N) = 0; });
    const auto machine = open_emulator();
    EXPECT_NO_THROW(plain::prepare_mixed(none, {90, 1}, nullptr).launch(machine->stream(), {}));
  }
}

}  // namespace
}  // namespace lapidary
