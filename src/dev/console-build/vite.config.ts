import path from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { chunkGroups } from "./chunks.ts";
import { compressed } from "./compressed.ts";
import { SOURCES } from "./places.ts";
import { firstPages } from "./first-pages.ts";

/**
 * How the console becomes files for browsers. No script and no style is inline: the page's policy allows
 * none.
 */
export default defineConfig({
  root: SOURCES,
  base: "/console/",
  // Do not serve Vite's default public folder.
  publicDir: false,
  plugins: [react(), firstPages(), compressed()],
  logLevel: "warn",
  clearScreen: false,
  resolve: {
    alias: [
      // The rules for fields are the gateway's to hold; their language would be a seventh of the script.
      {
        find: /^.*\/buf\/validate\/validate_pb\.ts$/,
        replacement: path.join(import.meta.dirname, "no-validation.ts"),
      },
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
