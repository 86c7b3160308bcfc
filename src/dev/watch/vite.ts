import { realpathSync } from "node:fs";
import path from "node:path";
import { createServer } from "vite";
import { DEV_WALLET_MARK } from "../../transport/console-server/console-files.ts";
import { ROOT } from "../console-build/places.ts";
import { freePort } from "../free-port.ts";

const MODULES = path.join(ROOT, "node_modules");

/**
 * Starts Vite's server for the console. Browsers reach it through the gateway, and its WebSocket directly.
 */
export async function startVite(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const host = "127.0.0.1";
  const server = await createServer({
    configFile: path.join(ROOT, "src/dev/console-build/vite.config.ts"),
    cacheDir: path.join(dataDir, "vite"),
    plugins: [
      {
        name: "toolgate:dev-wallet",
        transformIndexHtml: (html) => html.replace("</head>", `${DEV_WALLET_MARK}</head>`),
      },
    ],
    server: {
      host,
      port,
      strictPort: true,
      hmr: { host, clientPort: port },
      fs: { allow: [ROOT, realpathSync(MODULES)] },
    },
  });
  await server.listen();
  return { url: `http://${host}:${port}`, stop: () => server.close() };
}
