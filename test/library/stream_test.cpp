// On a GPU products are captured in CUDA graphs and replayed, run on several streams and devices at a time, and in
// order with copies on the default stream; and the device may be reset.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lapidary/gemm.hpp"
#include "library/elements.hpp"
#include "library/on_gpu.hpp"
#include "library/stream_key.hpp"

namespace lapidary {
namespace {

using test::check;

/// A kernel that reads column-major operands in no other way than as copies in a workspace.
const GemmOptions copies_both = {.kernel = "multistage_128x128x32_s3_f32"};

class OnStreams : public test::OnGpu {
 protected:
  /// n x n integers that products and sums of f32 hold exactly.
  std::vector<float> numbers(std::int64_t n, int seed) const {
    std::vector<float> values(static_cast<std::size_t>(n * n));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<int>((i * 7 + static_cast<std::size_t>(seed) * 13) % 5) - 2);
    return values;
  }
  std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, std::int64_t n) const {
    std::vector<float> d(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t j = 0; j < n; ++j)
          d[static_cast<std::size_t>(i * n + j)] += a[static_cast<std::size_t>(k * n + i)] *
                                                    b[static_cast<std::size_t>(j * n + k)];
    return d;
  }
};

TEST_F(OnStreams, GraphsReplayCopiesAndProducts) {
  constexpr std::int64_t n = 65;  // column-major operands of odd lines: both are copied first
  const std::size_t bytes = n * n * sizeof(float);
  const DeviceBuffer a(*device_, bytes, "A"), b(*device_, bytes, "B"), d(*device_, bytes, "D");
  const auto gemm = [&](cudaStream_t stream) {
    context_->gemm({.cuda = stream}, 1, column_major_view(a.data(), Type::f32, n, n),
                   column_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n),
                   copies_both);
  };
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  gemm(stream);  // makes the workspace
  check(cudaStreamSynchronize(stream));
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  gemm(stream);
  check(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u) << "two copies and a product";
  cudaGraphExec_t replay = nullptr;
  check(cudaGraphInstantiate(&replay, graph, 0));
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> left = numbers(n, round), right = numbers(n, round + 5);
    device_->upload(a.data(), left.data(), bytes);
    device_->upload(b.data(), right.data(), bytes);
    check(cudaGraphLaunch(replay, stream));
    check(cudaStreamSynchronize(stream));
    std::vector<float> found(left.size());
    device_->download(found.data(), d.data(), bytes);
    ASSERT_EQ(found, product(left, right, n)) << round;
  }
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
}

TEST_F(OnStreams, SeveralAtATimeHaveWorkspacesOfTheirOwn) {
  constexpr std::int64_t n = 97;
  constexpr int streams = 4, rounds = 20;
  const std::size_t bytes = n * n * sizeof(float);
  struct Work {
    cudaStream_t stream = nullptr;
    std::unique_ptr<DeviceBuffer> a, b, d;
    std::vector<float> expected;
  };
  std::vector<Work> all(streams);
  for (int i = 0; i < streams; ++i) {
    Work& work = all[static_cast<std::size_t>(i)];
    const std::vector<float> left = numbers(n, i), right = numbers(n, 2 * i + 1);
    work.expected = product(left, right, n);
    for (const auto& [buffer, content] : {std::pair(&work.a, &left), {&work.b, &right}, {&work.d, &left}}) {
      *buffer = std::make_unique<DeviceBuffer>(*device_, bytes, "matrix");
      device_->upload((*buffer)->data(), content->data(), bytes);
    }
    check(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
  }
  for (int round = 0; round < rounds; ++round)
    for (const Work& work : all)
      context_->gemm({.cuda = work.stream}, 1, column_major_view(work.a->data(), Type::f32, n, n),
                     column_major_view(work.b->data(), Type::f32, n, n), 0, {},
                     row_major_view(work.d->data(), Type::f32, n, n), copies_both);
  check(cudaDeviceSynchronize());
  for (const Work& work : all) {
    std::vector<float> found(work.expected.size());
    device_->download(found.data(), work.d->data(), bytes);
    EXPECT_EQ(found, work.expected);
    check(cudaStreamDestroy(work.stream));
  }
}

/// Products that take long: of n x n ones, D = alpha * 1 * 1 time after time, the last one with the alpha that is
/// given.
class Slow {
 public:
  explicit Slow(Device& device) : device_(device) { device.upload(ones_.data(), values_.data(), bytes); }

  void enqueue(Context& context, cudaStream_t stream, float alpha) const {
    for (int i = times; i > 0; --i)
      context.gemm({.cuda = stream}, i > 1 ? 7 : alpha, row_major_view(ones_.data(), Type::f32, n, n),
                   row_major_view(ones_.data(), Type::f32, n, n), 0, {}, row_major_view(d_.data(), Type::f32, n, n));
  }
  /// Whether they are there once they are copied to the host.
  bool is_right(float alpha) {
    device_.download(values_.data(), d_.data(), bytes);
    for (const float value : values_)
      if (value != alpha * n) return false;
    return true;
  }

 private:
  static constexpr std::int64_t n = 2048;
  static constexpr int times = 20;
  static constexpr std::size_t bytes = n * n * sizeof(float);

  Device& device_;
  std::vector<float> values_ = std::vector<float>(n * n, 1);
  DeviceBuffer ones_{device_, bytes, "ones"}, d_{device_, bytes, "D"};
};

TEST_F(OnStreams, CopiesWaitForTheDefaultStream) {
  Slow slow(*device_);
  for (const float alpha : {1.0F, 2.0F, 3.0F}) {
    slow.enqueue(*context_, nullptr, alpha);
    ASSERT_TRUE(slow.is_right(alpha));
  }
}

TEST_F(OnStreams, TheDeviceWaitsForEveryStream) {
  Slow slow(*device_);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  slow.enqueue(*context_, stream, 3);
  device_->synchronize();
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_TRUE(slow.is_right(3));
  check(cudaStreamDestroy(stream));
}

TEST_F(OnStreams, ThreadsHaveWorkspacesOfTheirOwnOnStreamsOfTheirOwn) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cudaStreamPerThread), library::stream_per_thread);
  constexpr std::int64_t n = 97;  // both operands are copied
  constexpr int threads = 4, rounds = 50;
  const std::size_t bytes = n * n * sizeof(float);
  std::vector<std::vector<float>> found(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      const DeviceBuffer a(*device_, bytes, "A"), b(*device_, bytes, "B"), d(*device_, bytes, "D");
      device_->upload(a.data(), numbers(n, t).data(), bytes);
      device_->upload(b.data(), numbers(n, 2 * t + 1).data(), bytes);
      for (int round = 0; round < rounds; ++round)
        context_->gemm({.cuda = cudaStreamPerThread}, 1, column_major_view(a.data(), Type::f32, n, n),
                       column_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n),
                       copies_both);
      if (cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess) return;
      std::vector<float>& values = found[static_cast<std::size_t>(t)];
      values.resize(n * n);
      device_->download(values.data(), d.data(), bytes);
    });
  for (std::thread& thread : running) thread.join();
  for (int t = 0; t < threads; ++t)
    EXPECT_EQ(found[static_cast<std::size_t>(t)], product(numbers(n, t), numbers(n, 2 * t + 1), n)) << t;
}

// By the same default context: kernels, and what they were allowed of shared memory, are gone in between.
TEST_F(OnStreams, TheDeviceMayBeReset) {
  constexpr std::int64_t n = 65;
  const std::size_t bytes = n * n * sizeof(float);
  const std::vector<float> left = numbers(n, 1), right = numbers(n, 2), expected = product(left, right, n);
  for (int round = 0; round < 2; ++round) {
    if (!device_) device_ = open_gpu();
    {
      const DeviceBuffer a(*device_, bytes, "A"), b(*device_, bytes, "B"), d(*device_, bytes, "D");
      device_->upload(a.data(), left.data(), bytes);
      device_->upload(b.data(), right.data(), bytes);
      gemm({}, 1, column_major_view(a.data(), Type::f32, n, n), column_major_view(b.data(), Type::f32, n, n), 0, {},
           row_major_view(d.data(), Type::f32, n, n), copies_both);
      std::vector<float> found(left.size());
      device_->download(found.data(), d.data(), bytes);
      ASSERT_EQ(found, expected) << round;
    }
    default_context({}).clear();
    context_.reset();
    device_.reset();
    check(cudaDeviceReset());
  }
}

// What a later product of the stream outgrows.
TEST_F(OnStreams, GraphsKeepTheirWorkspace) {
  constexpr std::int64_t n = 97, larger = 1031;
  const std::size_t bytes = n * n * sizeof(float);
  const DeviceBuffer a(*device_, bytes, "A"), b(*device_, bytes, "B"), d(*device_, bytes, "D");
  const std::vector<float> left = numbers(n, 1), right = numbers(n, 2);
  device_->upload(a.data(), left.data(), bytes);
  device_->upload(b.data(), right.data(), bytes);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto gemm = [&](std::int64_t size, const DeviceBuffer& x, const DeviceBuffer& y, const DeviceBuffer& z) {
    context_->gemm({.cuda = stream}, 1, column_major_view(x.data(), Type::f32, size, size),
                   column_major_view(y.data(), Type::f32, size, size), 0, {},
                   row_major_view(z.data(), Type::f32, size, size), copies_both);
  };
  gemm(n, a, b, d);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  gemm(n, a, b, d);
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t replay = nullptr;
  check(cudaGraphInstantiate(&replay, graph, 0));
  const DeviceBuffer large(*device_, larger * larger * sizeof(float), "large"),
      result(*device_, larger * larger * sizeof(float), "D");
  gemm(larger, large, large, result);
  check(cudaStreamSynchronize(stream));
  // Whoever is given memory that was freed.
  const std::vector<std::uint32_t> pattern(2 * bytes / sizeof(std::uint32_t), 0x5ac3);
  std::vector<std::unique_ptr<DeviceBuffer>> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(std::make_unique<DeviceBuffer>(*device_, 2 * bytes, "another's"));
    device_->upload(others.back()->data(), pattern.data(), 2 * bytes);
  }
  check(cudaMemset(d.data(), 0xff, bytes));
  check(cudaDeviceSynchronize());
  check(cudaGraphLaunch(replay, stream));
  check(cudaStreamSynchronize(stream));
  std::vector<float> found(left.size());
  device_->download(found.data(), d.data(), bytes);
  EXPECT_EQ(found, product(left, right, n));
  for (const auto& other : others) {
    std::vector<std::uint32_t> kept(pattern.size());
    device_->download(kept.data(), other->data(), 2 * bytes);
    ASSERT_EQ(kept, pattern);
  }
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
}

/// What a product is launched as.
struct Captured {
  const char* what;
  Type type;
  std::int64_t M, N, K, count;
  bool finishes;  ///< has an epilogue
};
constexpr Captured all_captured[] = {
    {"clusters", Type::f16, 2048, 2048, 512, 1, false},      {"an epilogue", Type::f16, 1024, 768, 512, 1, true},
    {"a second pass", Type::f32, 200, 136, 264, 1, true},    {"a batch", Type::bf16, 256, 256, 256, 6, false},
    {"a loop of launches", Type::f32, 72, 40, 96, 5, false}, {"a long sum", Type::bf16, 64, 64, 16384, 1, false},
    {"few rows", Type::f16, 8, 4096, 4096, 1, false},        {"copied operands", Type::bf16, 129, 255, 511, 1, false},
};

// Each kernel begins as soon as the one before it lets it, if kernels overlap: what the first product of a pair stores
// is NaN until then, and an operand of the second one.
TEST_F(OnStreams, GraphsReplayEveryKindOfLaunch) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const Captured& one : all_captured) {
    SCOPED_TRACE(one.what);
    // A and B as few bits as they may have; D is A of a second product, whose B is square.
    const std::int64_t M = one.M, N = one.N, K = one.K, count = one.count;
    const auto elements = [&](std::int64_t rows, std::int64_t cols) {
      return static_cast<std::size_t>(count * rows * cols);
    };
    const auto fill = [&](const DeviceBuffer& to, std::size_t values, int seed) {
      std::vector<float> numbers(values);
      for (std::size_t i = 0; i < values; ++i)
        numbers[i] = static_cast<float>(static_cast<int>((i * 7 + i / 31 + static_cast<std::size_t>(seed)) % 5) - 2);
      test::upload_as(*device_, to.data(), one.type, numbers);
    };
    const auto buffer = [&](std::size_t values) {
      return DeviceBuffer(*device_, values * static_cast<std::size_t>(size_of(one.type)), "matrix");
    };
    const DeviceBuffer a = buffer(elements(M, K)), b = buffer(elements(K, N)), square = buffer(elements(N, N)),
                       middle = buffer(elements(M, N)), last = buffer(elements(M, N)), bias = buffer(elements(1, N));
    fill(b, elements(K, N), 1);
    fill(square, elements(N, N), 2);
    fill(bias, elements(1, N), 3);
    GemmEpilogue epilogue;
    if (one.finishes)
      epilogue = {.bias = Bias::of_columns, .bias_data = bias.data(), .activation = Activation::gelu_tanh};
    const auto run = [&](Context& context, cudaStream_t on, bool waits = false) {
      check(cudaMemsetAsync(middle.data(), 0xff, middle.bytes(), on));
      const auto rows = [&](const DeviceBuffer& x, std::int64_t r, std::int64_t c) {
        return row_major_view(x.data(), one.type, r, c).batched(count, r * c);
      };
      context.gemm({.cuda = on}, 0.125F, rows(a, M, K), rows(b, N, K).transposed(), 0, {}, rows(middle, M, N),
                   epilogue);
      if (waits) check(cudaStreamSynchronize(on));
      context.gemm({.cuda = on}, 0.125F, rows(middle, M, N), rows(square, N, N).transposed(), 0, {}, rows(last, M, N),
                   epilogue);
    };
    fill(a, elements(M, K), 9);
    run(*context_, stream);  // makes the workspaces
    check(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; ++i) run(*context_, stream);
    check(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t replay = nullptr;
    check(cudaGraphInstantiate(&replay, graph, 0));
    for (int round = 0; round < 3; ++round) {
      fill(a, elements(M, K), round);
      check(cudaMemset(last.data(), 0xff, last.bytes()));
      check(cudaDeviceSynchronize());
      for (int times = 0; times < 5; ++times) check(cudaGraphLaunch(replay, stream));
      check(cudaStreamSynchronize(stream));
      const std::vector<float> found = test::download_of(*device_, last.data(), one.type, elements(M, N));
      // One after the other, with a wait in between, and by a context of its own.
      check(cudaMemset(last.data(), 0xff, last.bytes()));
      Context other(*device_);
      run(other, nullptr, true);
      const std::vector<float> expected = test::download_of(*device_, last.data(), one.type, elements(M, N));
      ASSERT_EQ(found, expected) << round;
      float most = 0;
      for (const float value : expected) most = std::max(most, std::abs(value));
      EXPECT_GT(most, 1) << "there is something to be seen";
    }
    check(cudaGraphExecDestroy(replay));
    check(cudaGraphDestroy(graph));
  }
  check(cudaStreamDestroy(stream));
}

// Each thread has a device that is its current one, and the default context of that.
TEST_F(OnStreams, SeveralDevicesWorkAtATime) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "there is one GPU";
  constexpr std::int64_t n = 97;  // both operands are copied
  constexpr int rounds = 50;
  const std::size_t bytes = n * n * sizeof(float);
  std::vector<std::vector<float>> found(static_cast<std::size_t>(devices));
  std::vector<const Context*> contexts(found.size());
  std::vector<std::thread> running;
  for (int number = 0; number < devices; ++number)
    running.emplace_back([&, number] {
      check(cudaSetDevice(number));
      const std::unique_ptr<Device> own = open_gpu();
      const DeviceBuffer a(*own, bytes, "A"), b(*own, bytes, "B"), d(*own, bytes, "D");
      own->upload(a.data(), numbers(n, number).data(), bytes);
      own->upload(b.data(), numbers(n, 2 * number + 1).data(), bytes);
      for (int round = 0; round < rounds; ++round)
        gemm(own->stream(), 1, column_major_view(a.data(), Type::f32, n, n),
             column_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n),
             copies_both);
      contexts[static_cast<std::size_t>(number)] = &default_context(own->stream());
      std::vector<float>& values = found[static_cast<std::size_t>(number)];
      values.resize(n * n);
      own->download(values.data(), d.data(), bytes);
    });
  for (std::thread& thread : running) thread.join();
  for (int number = 0; number < devices; ++number) {
    EXPECT_EQ(found[static_cast<std::size_t>(number)], product(numbers(n, number), numbers(n, 2 * number + 1), n))
        << number;
    EXPECT_EQ(std::count(contexts.begin(), contexts.end(), contexts[static_cast<std::size_t>(number)]), 1);
  }
}

// A kernel that reads an address that is nobody's leaves CUDA an error that no later call of the process gets rid of.
TEST_F(OnStreams, AFailedKernelIsADeviceErrorFromThenOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own
  const auto fail = [&] {
    constexpr std::int64_t n = 64;
    const DeviceBuffer b(*device_, n * n * sizeof(float), "B"), d(*device_, n * n * sizeof(float), "D");
    const auto* const nowhere = reinterpret_cast<const float*>(std::uintptr_t{4096});
    const auto gemm = [&] {
      context_->gemm(device_->stream(), 1, row_major_view(nowhere, Type::f32, n, n),
                     row_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n));
    };
    gemm();
    const auto says = [](const char* what, auto&& call) {
      try {
        call();
      } catch (const DeviceError& error) {
        std::cerr << what << ": " << error.what() << '\n';
      }
    };
    float first = 0;
    says("download", [&] { device_->download(&first, d.data(), sizeof(first)); });
    says("gemm", gemm);
    std::_Exit(0);  // nothing can be freed any more
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(0), "download: .*illegal.*\ngemm: .*illegal");
}

}  // namespace
}  // namespace lapidary
