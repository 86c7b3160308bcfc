import { startSdkServer } from "../../interop/sdk-server.ts";
import { print } from "./listen.ts";

// The official MCP library without sessions, with `echo`: node test/bench/peers/mcp.ts

const { baseUrl } = await startSdkServer();
print(Number(new URL(baseUrl).port));
