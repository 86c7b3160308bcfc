import path from "node:path";
import { runnerImport, type Plugin, type Rolldown } from "vite";
import { SOURCES } from "./places.ts";

const [HEAD_END, EMPTY_ROOT] = ["</head>", '<div id="root"></div>'];

/**
 * Lets browsers fetch the scripts after the style, while they show the page. Writes the page a second time,
 * with the sign-in page in its HTML, for visitors without a session.
 */
export function firstPages(): Plugin {
  return {
    name: "toolgate:first-pages",
    enforce: "post",
    async generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset" || typeof page.source !== "string") return this.error("there is no page");
      page.source = page.source.replace(HEAD_END, `${preloads(bundle, page.source)}${HEAD_END}`);
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
