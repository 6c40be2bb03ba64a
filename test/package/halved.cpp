// A product whose results a function of this project makes, in the kernel that multiplies.
#include "halved.hpp"

#include <core/types.hpp>
#include <lapidary/machine.hpp>
#include <limits>
#include <vector>

#include "expect.hpp"

namespace {

using lapidary::f16;

std::vector<f16> as_f16(const std::vector<float>& numbers) {
  std::vector<f16> rounded;
  for (const float number : numbers) rounded.push_back(lapidary::from_float<f16>(number));
  return rounded;
}

/// Whether every element of D is what it should be. All sums are exact, and so are their halves.
bool halves(lapidary::Device& device,
            lapidary::Prepared (*prepare)(const lapidary::Problem& problem, const lapidary::Card& card)) {
  constexpr int M = 37, N = 48, K = 24;
  std::vector<float> a(M * K), b(N * K);
  for (int i = 0; i < M * K; ++i) a[i] = static_cast<float>(i * i % 97 % 5 - 2);
  for (int i = 0; i < N * K; ++i) b[i] = static_cast<float>(i * 7 % 101 % 5 - 2);
  std::vector<f16> d = as_f16(std::vector<float>(M * N, std::numeric_limits<float>::quiet_NaN()));
  const lapidary::DeviceBuffer A(device, a.size() * sizeof(f16), "A"), B(device, b.size() * sizeof(f16), "B"),
      D(device, d.size() * sizeof(f16), "D");
  device.upload(A.data(), as_f16(a).data(), A.bytes());
  device.upload(B.data(), as_f16(b).data(), B.bytes());
  device.upload(D.data(), d.data(), D.bytes());

  using lapidary::Order, lapidary::Type;
  const lapidary::Problem problem = {
      .kind = {Type::f16, Type::f16, Order::row_major, Order::column_major}, .M = M, .N = N, .K = K};
  const lapidary::Stream stream = device.stream();
  prepare(problem, lapidary::card_of(stream)).launch(stream, {.A = A.data(), .B = B.data(), .D = D.data()});
  device.download(d.data(), D.data(), D.bytes());
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[i * K + k] * b[j * K + k];
      if (lapidary::to_float(d[i * N + j]) != (i == j ? sum : sum / 2)) return false;
    }
  return true;
}

}  // namespace

int main() {
  const auto plain = lapidary::open_emulator();
  expect(halves(*plain, plain::prepare_halved), "the plain build halves");
  const auto checking = lapidary::open_emulator({.check = true});
  expect(halves(*checking, instrumented::prepare_halved), "the instrumented build halves");
  return failures != 0;
}
