import { useState } from "react";
import { useSignedIn } from "../../session.tsx";
import { Code, Tabs } from "../../ui/index.ts";
import { curlSnippet, mcpSnippet, typescriptSnippet } from "./snippets.ts";
import type { ToolCall } from "./tool-call.ts";

const TABS = [
  { id: "curl", label: "curl" },
  { id: "mcp", label: "MCP config" },
  { id: "typescript", label: "TypeScript" },
] as const;

/** The same call for curl, MCP and TypeScript. */
export function CopyAs({ call }: { call: ToolCall }) {
  const { baseUrl } = useSignedIn().installation;
  const [tab, setTab] = useState<(typeof TABS)[number]["id"]>("curl");
  const text = {
    curl: curlSnippet(baseUrl, call),
    mcp: mcpSnippet(baseUrl),
    typescript: typescriptSnippet(baseUrl, call),
  }[tab];
  const label = { curl: "curl command", mcp: "MCP configuration", typescript: "TypeScript program" }[tab];
  return (
    <Tabs label="Copy as" tabs={TABS} current={tab} onChange={setTab}>
      <Code text={text} label={label} />
      <p className="hint">
        {tab === "mcp"
          ? "For MCP clients that expand environment variables; others need the key itself.  "
          : ""}
        The key is read from <code>TOOLGATE_API_KEY</code>.
      </p>
    </Tabs>
  );
}
