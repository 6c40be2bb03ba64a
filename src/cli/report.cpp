#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "lens/rung_page.hpp"
#include "report/file.hpp"
#include "report/markup.hpp"
#include "report/page.hpp"
#include "report/progress.hpp"

namespace lapidary::cli {
namespace {

struct Arguments {
  std::string folder = "report", markdown;
  bool check = false;
  GpuChoice gpu;
};

constexpr const char* introduction =
    "Matrix multiplication, one kernel at a time, from the naive loop upwards. What a kernel costs was computed from "
    "its source on an emulated machine and from the code that nvcc made of it; what the card says stands beside it.";

std::string html_report(const model::Gpu& gpu, report::Progress& progress) {
  const lens::PageTarget target{[](std::string_view kernel) { return fmt::format("#{}", kernel); },
                                [](std::string_view path) { return std::string(path); }};
  std::string navigation = "<a href=\"#ladder\">ladder</a>", body;
  body += fmt::format("<section id=\"ladder\">\n<h1>Lapidary on {}</h1>\n<p>{}</p>\n", report::xml_escaped(gpu.name),
                      introduction);
  report::Document overview;
  overview.picture(lens::ladder_picture(gpu), "ladder", "");
  overview.table(lens::ladder_table(gpu));
  body += overview.html() + "</section>\n";
  for (const Rung& rung : ladder()) {
    progress.update(rung.name(), -1);
    const std::string name(rung.name());
    navigation += fmt::format("<a href=\"#{0}\">{0}</a>", name);
    body += fmt::format("<section id=\"{}\">\n{}</section>\n", name, lens::rung_page(rung, gpu, target).html(1));
  }
  return report::html_page(fmt::format("Lapidary on {}", gpu.name), navigation, body);
}

/// Files by their names in the folder.
std::map<std::string, std::string> markdown_report(const model::Gpu& gpu, report::Progress& progress) {
  const lens::PageTarget target{[](std::string_view kernel) { return lens::page_name(kernel) + ".md"; },
                                [](std::string_view path) { return fmt::format("../../{}", path); }};
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& name, const report::Document& page) {
    files[name + ".md"] = "<!-- generated: lapidary report --markdown -->\n\n" + page.markdown();
    for (const report::Document::Picture& picture : page.pictures())
      files[picture.name + ".svg"] = picture.svg.render();
  };
  report::Document overview;
  overview.heading(1, fmt::format("The ladder on {}", gpu.name));
  overview.paragraph(introduction);
  overview.picture(lens::ladder_picture(gpu), "ladder", fmt::format("the ladder on {}", gpu.name));
  overview.table(lens::ladder_table(gpu));
  std::vector<report::Document::Link> links;
  for (const Rung& rung : ladder()) links.push_back({std::string(rung.name()), target.page(rung.name())});
  overview.links(std::move(links));
  add("README", overview);
  for (const Rung& rung : ladder()) {
    progress.update(rung.name(), -1);
    add(lens::page_name(rung.name()), lens::rung_page(rung, gpu, target));
  }
  return files;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Says which files are not what they would be written to.
ExitCode compare(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
  ExitCode code = success;
  for (const auto& [name, text] : files) {
    if (text_of(folder / name) == text) continue;
    fmt::print("{} is stale\n", (folder / name).string());
    code = wrong_result;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (files.contains(entry.path().filename().string())) continue;
    fmt::print("{} is of no kernel\n", entry.path().string());
    code = wrong_result;
  }
  return code;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InvalidArgument(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

ExitCode run(const Arguments& a) {
  const model::Gpu gpu = chosen_gpu(a.gpu);
  report::Progress progress;
  if (a.markdown.empty()) {
    if (a.check) throw InvalidArgument("--check compares the files of --markdown DIR, which is missing");
    make_folder(a.folder);
    const std::filesystem::path file = std::filesystem::path(a.folder) / "index.html";
    report::write_file(file, html_report(gpu, progress));
    progress.pause();
    fmt::print("{}\n", file.string());
    return success;
  }
  const std::map<std::string, std::string> files = markdown_report(gpu, progress);
  if (a.check) return compare(a.markdown, files);
  make_folder(a.markdown);
  for (const auto& [name, text] : files) report::write_file(std::filesystem::path(a.markdown) / name, text);
  return success;
}

}  // namespace

Command add_report(CLI::App& program) {
  CLI::App* app = program.add_subcommand("report", "the whole ladder as one page: what each kernel costs and why");
  const auto a = std::make_shared<Arguments>();
  app->add_option("-o,--output", a->folder, "the folder of index.html, a page that loads nothing (report)")
      ->type_name("DIR");
  app->add_option("--markdown", a->markdown, "write a Markdown page for each kernel and its pictures into DIR instead")
      ->type_name("DIR");
  app->add_flag("--check", a->check, "write nothing; fail unless the Markdown pages are what they would be");
  add_gpu_options(*app, a->gpu);
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
