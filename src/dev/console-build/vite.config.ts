import path from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Rolldown, type Plugin, runnerImport } from "vite";
import { SOURCES } from "./places.ts";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const [HEAD_START, HEAD_END, EMPTY_ROOT] = ["<head>", "</head>", '<div id="root"></div>'];

/** Applies the theme that theme.ts stored, before the first paint. */
const STORED_THEME = `try {
  const theme = localStorage.getItem("toolgate-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
`;

/**
 * Loads the theme's script before the style and all others after it. Writes a second page with the sign-in
 * HTML, for no session.
 */
function firstPages(): Plugin {
  return {
    name: "toolgate:first-pages",
    enforce: "post",
    async generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset" || typeof page.source !== "string") return this.error("there is no page");
      const theme = this.emitFile({ type: "asset", name: "theme.js", source: STORED_THEME });
      const script = `<script src="/console/${this.getFileName(theme)}"></script>`;
      page.source = page.source
        .replace(HEAD_START, `${HEAD_START}${script}`)
        .replace(HEAD_END, `${preloads(bundle, page.source)}${HEAD_END}`);
      const { module } = await runnerImport<{ signInMarkup: () => string }>(
        path.join(SOURCES, "sign-in-markup.tsx"),
      );
      const root = EMPTY_ROOT.replace("><", `>${module.signInMarkup()}<`);
      const source = page.source.replace(EMPTY_ROOT, () => root);
      this.emitFile({ type: "asset", fileName: "sign-in.html", source });
    },
  };
}

/** Returns links to the scripts that the first one imports later, and to theirs. */
function preloads(bundle: Rolldown.OutputBundle, html: string): string {
  const entry = Object.values(bundle).find((file) => file.type === "chunk" && file.isEntry);
  const names = new Set(entry?.type === "chunk" ? entry.dynamicImports : []);
  for (const name of names) {
    const file = bundle[name];
    if (file?.type === "chunk") for (const needed of file.imports) names.add(needed);
  }
  return [...names]
    .filter((name) => !html.includes(name))
    .map((name) => `<link rel="modulepreload" fetchpriority="low" crossorigin href="/console/${name}">`)
    .join("");
}

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** Compressible types. */
const TEXT = /\.(?:js|css|html|svg|json)$/;

/** Writes each text a second and third time, compressed, so that no request waits for it. */
function compressed(): Plugin {
  let folder = "";
  return {
    name: "toolgate:compressed",
    configResolved: (config) => {
      folder = path.resolve(config.root, config.build.outDir);
    },
    closeBundle: async () => {
      const files = await readdir(folder, { recursive: true });
      await Promise.all(
        files.filter((file) => TEXT.test(file)).map((file) => compress(path.join(folder, file))),
      );
    },
  };
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  await Promise.all([
    brotli(content, { params }).then((bytes) => writeFile(`${file}.br`, bytes)),
    gzipped(content, { level: 9 }).then((bytes) => writeFile(`${file}.gz`, bytes)),
  ]);
}

const local = (file: string) => path.join(import.meta.dirname, file);

const START = path.join(SOURCES, "start.tsx");

/** What every visit loads is one file, and so is what most pages share: browsers fetch six at a time. */
function chunkGroups(): Rolldown.CodeSplittingGroup[] {
  let first: Set<string> | undefined;
  return [
    // The entry needs it before all others.
    { name: "import", test: /^\0vite\/preload-helper/ },
    {
      debugName: "first",
      name: (id, context) => {
        first ??= neededBy(START, (module) => context.getModuleInfo(module)?.importedIds ?? []);
        return first.has(id) ? "first" : null;
      },
    },
    { name: "shared", minShareCount: 6 },
  ];
}

function neededBy(module: string, imports: (module: string) => readonly string[]): Set<string> {
  const all = new Set([module]);
  for (const one of all) for (const imported of imports(one)) all.add(imported);
  return all;
}

/** How the console becomes files. No script and no style is inline: the page's policy allows none. */
export default defineConfig({
  root: SOURCES,
  base: "/console/",
  // Do not serve Vite's default public folder.
  publicDir: false,
  plugins: [react(), firstPages(), compressed()],
  logLevel: "warn",
  clearScreen: false,
  resolve: {
    // The rules and routes are the gateway's to hold; their language would be a seventh of the script.
    alias: [
      { find: /^.*\/buf\/validate\/validate_pb\.ts$/, replacement: local("no-validation.ts") },
      { find: /^.*\/httpjson\/v1\/options_pb\.ts$/, replacement: local("no-http-options.ts") },
      { find: /^.*\/google\/api\/annotations_pb\.ts$/, replacement: local("no-annotations.ts") },
    ],
  },
  build: {
    target: "es2022",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // Browsers keep a failed preload, and then the page cannot be loaded again without a reload.
      resolveDependencies: (_file, files, { hostType }) => (hostType === "html" ? files : []),
    },
    cssMinify: true,
    // One small sheet: a page's own sheet would shift its layout, and could not be loaded again after a
    // failure.
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: { groups: chunkGroups() } } },
  },
});
