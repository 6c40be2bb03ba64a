#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/explain.hpp"
#include "lens/kernel_cost.hpp"
#include "lens/ladder_roofline.hpp"
#include "lens/raster_comparison.hpp"
#include "lens/rung_record.hpp"
#include "pages/ladder_page.hpp"
#include "pages/raster_picture.hpp"
#include "pages/roofline_picture.hpp"
#include "pages/rung_page.hpp"
#include "report/markup.hpp"
#include "report/page.hpp"
#include "report/progress.hpp"
#include "report/write_file.hpp"

namespace lapidary::cli {
namespace {

struct ReportArguments {
  std::string folder, markdown, record, costs;
  bool check = false, json = false;
  GpuChoice gpu;
};

constexpr const char* introduction =
    "Matrix multiplication, one kernel at a time, from the naive loop upwards. What a kernel costs was computed from "
    "its source on an emulated machine and from the code that nvcc made of it; what the card says stands beside it.";

/// The ladder on one card, before the pages of its kernels.
report::Document overview_of(const model::Gpu& gpu) {
  report::Document page;
  page.picture(pages::ladder_picture(gpu), "ladder", "What was measured and predicted, beside cuBLAS.");
  page.table(pages::ladder_table(gpu));
  page.picture(pages::roofline_picture(lens::roofline(gpu, lens::page_size, "burst")), "roofline",
               "The ladder below the ceilings of the card: `lapidary roofline`.");
  const model::GemmShape gemm{8192, 8192, 8192, 4, 4, false};
  page.picture(
      pages::raster_picture(lens::compare_rasters({gpu, gemm, {128, 128, 8}, 2})), "raster",
      "The order in which tiles are visited, and what it does to traffic: `lapidary raster --blocks-per-sm 2`.");
  return page;
}

std::string html_report(const model::Gpu& gpu, const std::vector<lens::Explanation>& rungs) {
  const pages::PageTarget target{
      [](std::string_view kernel) { return fmt::format("#{}", kernel); },
      [](std::string_view path) { return fmt::format("#source-{}", std::filesystem::path(path).stem().string()); }};
  std::string navigation = "<a href=\"#ladder\">ladder</a>", body;
  body += fmt::format("<section id=\"ladder\">\n<h1>Lapidary on {}</h1>\n<p>{}</p>\n", report::xml_escaped(gpu.name),
                      introduction);
  body += overview_of(gpu).html() + "</section>\n";
  for (const lens::Explanation& e : rungs) {
    const std::string_view name = e.question.rung->name();
    navigation += fmt::format("<a href=\"#{0}\">{0}</a>", name);
    // The page is one file, wherever it is opened: it has what it links to.
    body += fmt::format(
        "<section id=\"{0}\">\n{1}<details><summary>The source of {0}</summary>\n"
        "<pre id=\"source-{0}\" tabindex=\"0\">{2}</pre></details>\n</section>\n",
        name, pages::rung_page(e, target).html(1), report::xml_escaped(rung_source(name)));
  }
  return report::html_page(fmt::format("Lapidary on {}", gpu.name), navigation, body);
}

/// Files by their names in the folder.
std::map<std::string, std::string> markdown_report(const model::Gpu& gpu, const std::vector<lens::Explanation>& rungs) {
  const pages::PageTarget target{[](std::string_view kernel) { return fmt::format("{}.md", kernel); },
                                 [](std::string_view path) { return fmt::format("../../{}", path); }};
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& name, const report::Document& page) {
    files[name + ".md"] = "<!-- written by lapidary report --markdown -->\n\n" + page.markdown();
    for (const report::Document::Picture& picture : page.pictures())
      files[picture.name + ".svg"] = picture.svg.render();
  };
  report::Document overview;
  overview.heading(1, fmt::format("The ladder on {}", gpu.name));
  overview.paragraph(introduction);
  overview.append(overview_of(gpu));
  std::vector<report::Document::Link> links;
  for (const lens::Explanation& e : rungs) {
    const std::string_view name = e.question.rung->name();
    links.push_back({std::string(name), target.page(name)});
    add(std::string(name), pages::rung_page(e, target));
  }
  overview.links(std::move(links));
  add("README", overview);
  return files;
}

/// What became of files.
struct Outcome {
  std::vector<std::string> written;
  std::vector<std::string> stale, unknown;  ///< of a folder that was compared
  std::vector<std::string> not_built;       ///< records of kernels that this program was built without

  bool ok() const { return stale.empty() && unknown.empty(); }
};

/// Finds which files are not what they would be written to.
void compare(const std::filesystem::path& folder, const std::map<std::string, std::string>& files, Outcome& outcome) {
  for (const auto& [name, text] : files)
    if (read_file(folder / name) != text) outcome.stale.push_back((folder / name).string());
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (!files.contains(entry.path().filename().string())) outcome.unknown.push_back(entry.path().string());
  std::sort(outcome.unknown.begin(), outcome.unknown.end());
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InvalidArgument(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

void write(const std::filesystem::path& file, const std::string& text, Outcome& outcome) {
  report::write_file(file, text);
  outcome.written.push_back(file.string());
}

void write_markdown(const std::filesystem::path& folder, const std::map<std::string, std::string>& files,
                    Outcome& outcome) {
  make_folder(folder);
  for (const auto& [name, text] : files) write(folder / name, text, outcome);
}

/// Of the optional rungs that this program has.
void write_records(const std::filesystem::path& folder, Outcome& outcome) {
  make_folder(folder);
  for (const OptionalRung& rung : optional_rungs()) {
    const std::filesystem::path file = folder / std::filesystem::path(lens::record_file(rung.name)).filename();
    if (rung.built)
      write(file, lens::to_text(lens::record(find_rung(rung.name))), outcome);
    else
      outcome.not_built.push_back(file.string());
  }
}

void print_outcome(const Outcome& outcome) {
  // Of pages and their pictures the one to begin with.
  for (const std::string& file : outcome.written) {
    const std::filesystem::path path = file;
    const bool is_part = path.extension() == ".svg" || (path.extension() == ".md" && path.stem() != "README");
    if (!is_part) fmt::print("{}\n", file);
  }
  for (const std::string& file : outcome.not_built)
    fmt::print("{}: not written, this program was built without the kernel\n", file);
  for (const std::string& file : outcome.stale) fmt::print("{} is stale\n", file);
  for (const std::string& file : outcome.unknown) fmt::print("{} is of no kernel\n", file);
}

/// The page, and the Markdown pages if they were asked for.
void write_pages(const ReportArguments& a, const model::Gpu& gpu, Outcome& outcome) {
  const bool page = !a.folder.empty() || a.markdown.empty();
  const std::filesystem::path folder = a.folder.empty() ? "report" : a.folder;
  // Explaining all rungs takes minutes.
  if (page) make_folder(folder);
  if (!a.markdown.empty() && !a.check) make_folder(a.markdown);
  std::vector<lens::Explanation> rungs;
  report::Progress progress;
  const auto& ladder = lens::whole_ladder();
  for (const Rung& rung : ladder) {
    progress.update(rung.name(), static_cast<double>(rungs.size()) / static_cast<double>(ladder.size()));
    rungs.push_back(lens::explain_for_page(rung, gpu));
  }
  if (page) write(folder / "index.html", html_report(gpu, rungs), outcome);
  if (a.markdown.empty()) return;
  const std::map<std::string, std::string> files = markdown_report(gpu, rungs);
  if (a.check)
    compare(a.markdown, files, outcome);
  else
    write_markdown(a.markdown, files, outcome);
}

/// The library's table, or whether it is what it would be.
void write_costs(const ReportArguments& a, Outcome& outcome) {
  const std::string table = lens::kernel_cost_table();
  if (!a.check)
    write(a.costs, table, outcome);
  else if (read_file(a.costs) != table)
    outcome.stale.push_back(a.costs);
}

ExitCode run(const ReportArguments& a) {
  if (a.check && a.markdown.empty() && a.costs.empty())
    throw InvalidArgument("--check compares the files of --markdown DIR or --costs FILE, which are missing");
  const bool pages = (a.record.empty() && a.costs.empty()) || !a.folder.empty() || !a.markdown.empty();
  if (!pages && (a.gpu.name || !a.gpu.file.empty()))
    throw InvalidArgument("--gpu and --gpu-file are of pages, which --record and --costs alone do not write");
  Outcome outcome;
  if (!a.costs.empty()) write_costs(a, outcome);
  Json gpu_name;
  if (!a.record.empty()) write_records(a.record, outcome);
  if (pages) {
    const model::Gpu gpu = chosen_gpu(a.gpu);
    gpu_name = gpu.name;
    write_pages(a, gpu, outcome);
  }
  if (a.json)
    print({{"gpu", gpu_name},
           {"ok", outcome.ok()},
           {"files", outcome.written},
           {"not_built", outcome.not_built},
           {"stale", outcome.stale},
           {"unknown", outcome.unknown}});
  else
    print_outcome(outcome);
  return outcome.ok() ? success : wrong_result;
}

}  // namespace

Command add_report(App program) {
  App app = program.add_subcommand("report", "the whole ladder as one page: what each kernel costs and why");
  const auto a = std::make_shared<ReportArguments>();
  app.add_option("-o,--output", a->folder,
                 "the folder of index.html, a page that loads nothing (report, unless one of the following is given)")
      .type_name("DIR");
  app.add_option("--markdown", a->markdown, "write a Markdown page for each kernel, and its pictures, into DIR")
      .type_name("DIR");
  app.add_option("--costs", a->costs, "write the table of what kernels cost, by which the library chooses")
      .type_name("FILE");
  app.add_flag("--check", a->check,
               "write neither Markdown pages nor that table; fail unless they are what they would be");
  app.add_option("--record", a->record,
                 "write into DIR, a file each, what programs that were built without optional kernels show of them")
      .type_name("DIR");
  add_gpu_options(app, a->gpu);
  app.add_flag("--json", a->json, "print as JSON which files were written, or are stale");
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
