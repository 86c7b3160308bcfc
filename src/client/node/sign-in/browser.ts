import { spawn } from "node:child_process";
import process from "node:process";

/** Prints the address to stderr, and opens it in the browser where there is one. */
export function openInBrowser(address: string): void {
  process.stderr.write(`Sign in at:\n${address}\n`);
  const [command, ...args] = openerOf(process.platform, process.env);
  if (command === undefined) return;
  // Without a shell: the address is an argument and nothing else.
  spawn(command, [...args, address], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}

/** The platform's program that opens an address; empty without a screen. */
function openerOf(platform: string, { DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): string[] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : [];
}
