#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "core/error.hpp"
#include "core/file.hpp"
#include "fuzz.hpp"
#include "trial/cuda_source.hpp"
#include "trial/evaluate.hpp"
#include "trial/kernel_call.hpp"
#include "trial/kernel_launch.hpp"
#include "trial/kernel_problem.hpp"
#include "trial/matrix_image.hpp"

namespace lapidary::fuzz {
namespace {

/// All that `lapidary try` makes of a kernel before it is compiled. What one step refuses keeps none of the others from
/// being taken.
void read_kernel(const trial::CudaSource& source, const trial::CudaKernel& kernel, const trial::Request& given) {
  trial::Request request = given;
  request.kernel = kernel.scope + kernel.name + given.kernel;
  try {
    trial::Call call = trial::bind_call(source, request);
    static_cast<void>(trial::instantiate(source, call));
    const bench::RandomProblem spec = trial::problem_of(source, call, request);
    static_cast<void>(trial::operands_of(call, trial::Layouts(), spec.problem, request, {3, 3, 3, 3}));
    static_cast<void>(trial::shape_of(source, call, request, spec.problem));
  } catch (const Error& error) {
    if (*error.what() == 0) throw Violation("a refusal without a message");
  }
}

void read_source(const std::string& input) {
  const std::string path = scratch_file("kernel.cu");
  write_file(path, input);
  trial::CudaSource source(path);
  for (const auto target : {trial::CudaSource::Target::gpu, trial::CudaSource::Target::emulator})
    static_cast<void>(source.rewritten(target));
  constexpr std::size_t most_kernels = 3;
  for (std::size_t i = 0; i < std::min(source.kernels().size(), most_kernels); ++i) {
    const trial::CudaKernel& kernel = source.kernels()[i];
    source.launch_of(kernel);
    static_cast<void>(source.reached_by(kernel));
    for (const trial::CudaParameter& parameter :
         std::span(kernel.parameters).first(std::min<std::size_t>(kernel.parameters.size(), 8)))
      static_cast<void>(source.definitions().without_aliases(parameter.type));
    read_kernel(source, kernel, {});
    trial::Request said;
    said.grid = "ceil_div(N, 32), (M + 31) / 32";
    said.block = "32, 2 << 2";
    said.roles = "M, N, K, A, B, C";
    said.kernel = "<32, 8, float>";
    read_kernel(source, kernel, said);
  }
  for (const char* name : {"N", "BLOCK_SIZE", "grid", "block", "TILE"}) {
    if (source.definitions().constant(name)) source.redefine(name, "17");
    if (const auto definition = source.definitions().before(input.size(), name)) {
      try {
        trial::evaluate(*definition,
                        [&](const std::string& of) { return source.definitions().before(input.size(), of); });
      } catch (const Error&) {
      }
    }
  }
  static_cast<void>(source.rewritten(trial::CudaSource::Target::emulator));
}

void read_expression(const std::string& input) {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "N") return "4096";
    if (name == "block") return "32, 8";
    if (name == "again") return "again + 1";
    if (name == "twice") return "again * again";
    if (name.starts_with("p") && name.size() < 16) return name + "p + " + name + "p";  // two names each
    return std::nullopt;
  };
  static_cast<void>(trial::evaluate(input, lookup));
}

/// All but the one that is there to be refused.
std::vector<std::string> cuda_files() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {LAPIDARY_SOURCE_DIR "/test/try", LAPIDARY_SOURCE_DIR "/docs/questions"})
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".cu" && file.path().stem() != "cooperative") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());  // the order of a folder is no order
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(read_file(path).value());
  return texts;
}

}  // namespace

std::vector<Target> source_targets() {
  return {{"sources",
           cuda_files(),
           {"__global__",
            "__shared__",
            "__device__",
            "__launch_bounds__(256)",
            "extern",
            "template",
            "typename",
            "struct",
            "typedef",
            "using",
            "namespace",
            "const",
            "float",
            "half",
            "double",
            "int",
            "size_t",
            "float4",
            "dim3",
            "<<<",
            ">>>",
            "#define",
            "#include \"other.cuh\"",
            "#include <thrust/a.h>",
            "\n",
            "\\\n",
            ";",
            "=",
            "::",
            "*",
            "&",
            "//",
            "/*",
            "*/",
            "\"",
            "asm volatile",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "%0",
            "%99999999999999999999",
            "mma.sync.aligned.m16n8k99999999999.row.col.f32.bf16.bf16.f32",
            ".reg .b32",
            "R\"(",
            "sizeof(float)",
            "ceil_div",
            "static_cast<",
            "[BM * BK]",
            "main",
            "cudaMalloc",
            "if",
            "for",
            "return",
            "A",
            "B",
            "C",
            "M",
            "N",
            "K",
            "alpha"},
           read_source},
          {"expressions",
           {"ceil_div(N, 32)", "(N + 31) / 32", "dim3(N / block.x)", "1 << 10", "2 * sizeof(float) * 32 * 32",
            "static_cast<int>(ceil(N / 32.0f))", "(unsigned int)N % 7 - -3", "std::max(1, min(N, 64))"},
           {"N",
            "block",
            ".x",
            ".z",
            "again",
            "twice",
            "p",
            "ceil_div",
            "min",
            "max",
            "ceil",
            "floor",
            "sizeof(half)",
            "static_cast<float>(",
            "(float)",
            "std::",
            "dim3",
            "<<",
            ">>",
            "+",
            "-",
            "*",
            "/",
            "%",
            "(",
            ")",
            ",",
            "1e308",
            "0.5f",
            "99999999999"},
           read_expression}};
}

}  // namespace lapidary::fuzz
