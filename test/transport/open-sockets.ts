import process from "node:process";

/** How many TCP connections this process has open, both ends of its own counted. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}
