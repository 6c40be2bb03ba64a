// On a GPU products are captured in CUDA graphs and replayed, run on several streams at a time, in order with copies on
// the default one, and reach beyond 2^31 elements; and the device may be reset.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "lapidary/gemm.hpp"
#include "library/stream_key.hpp"

namespace lapidary {
namespace {

/// Ends the test if CUDA fails, whatever function is in between.
void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

class OnStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU";
    device_ = open_gpu();
    context_ = std::make_unique<Context>(*device_);
  }

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

  std::unique_ptr<Device> device_;
  std::unique_ptr<Context> context_;
};

TEST_F(OnStreams, GraphsReplayCopiesAndProducts) {
  constexpr std::int64_t n = 65;  // column-major operands of odd lines: both are copied first
  const std::size_t bytes = n * n * sizeof(float);
  const DeviceBuffer a(*device_, bytes, "A"), b(*device_, bytes, "B"), d(*device_, bytes, "D");
  const auto gemm = [&](cudaStream_t stream) {
    context_->gemm({.cuda = stream}, 1, column_major_view(a.data(), Type::f32, n, n),
                   column_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n));
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
                     row_major_view(work.d->data(), Type::f32, n, n));
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
                       column_major_view(b.data(), Type::f32, n, n), 0, {}, row_major_view(d.data(), Type::f32, n, n));
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
           row_major_view(d.data(), Type::f32, n, n));
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

/// One column of ones times one row of them, and the other way round: D, or A and B, of more than 2^31 elements.
TEST_F(OnStreams, MatricesMayHaveMoreThan31BitsOfElements) {
  constexpr std::int64_t large = 46341;  // 46341^2 > 2^31
  const std::size_t bytes = static_cast<std::size_t>(large) * large * 2;
  if (device_->properties().free_bytes < 2 * bytes + (std::size_t{1} << 30)) GTEST_SKIP() << "too little memory";
  const std::vector<std::uint16_t> ones(static_cast<std::size_t>(large) * 8, 0x3c00);
  const DeviceBuffer vector(*device_, ones.size() * 2, "vector"), matrix(*device_, bytes, "matrix"),
      result(*device_, ones.size() * 4, "result");
  device_->upload(vector.data(), ones.data(), vector.bytes());
  const Stream stream = device_->stream();
  // D = 1 1^T has 46341 x 46341 ones.
  context_->gemm(stream, 1, row_major_view(vector.data(), Type::f16, large, 1),
                 row_major_view(vector.data(), Type::f16, 1, large), 0, {},
                 row_major_view(matrix.data(), Type::f16, large, large));
  // Each of its rows adds up to 46341, in f32.
  context_->gemm(stream, 1, row_major_view(matrix.data(), Type::f16, large, large),
                 row_major_view(vector.data(), Type::f16, large, 8), 0, {},
                 row_major_view(result.data(), Type::f32, large, 8));
  device_->synchronize();
  std::vector<float> sums(static_cast<std::size_t>(large) * 8);
  device_->download(sums.data(), result.data(), sums.size() * 4);
  for (const float sum : sums) ASSERT_EQ(sum, static_cast<float>(large));
}

}  // namespace
}  // namespace lapidary
