import { mcpSnippet } from "../playground/snippets.ts";

const KEY_VARIABLE = "TOOLGATE_API_KEY";

interface McpHost {
  readonly id: string;
  readonly label: string;
  /** Opens the host, which asks before it adds the server. */
  readonly link?: string;
  /** For hosts without a link, or to add the server by hand. */
  readonly text: string;
  /** Where the text belongs, and where the key comes from. */
  readonly hint: string;
}

/** Returns the configuration of common MCP hosts. None contains a key. */
export function mcpHosts(baseUrl: string): readonly McpHost[] {
  const url = `${baseUrl}/mcp`;
  const bearer = (variable: string) => ({ Authorization: `Bearer ${variable}` });
  const cursor = { url, headers: bearer(`\${env:${KEY_VARIABLE}}`) };
  const cursorConfig = encodeURIComponent(btoa(JSON.stringify(cursor)));
  const header = `--header "Authorization: Bearer $${KEY_VARIABLE}"`;
  const vscode = { type: "http", url, headers: bearer("${input:toolgate-key}") };
  const inputs = [
    { id: "toolgate-key", type: "promptString", description: "Toolgate API key", password: true },
  ];
  const vscodeLink = { name: "toolgate", ...vscode, inputs };
  return [
    {
      id: "claude",
      label: "Claude Code",
      text: `claude mcp add --transport http toolgate ${url} ${header}`,
      hint: `Run it in a terminal where ${KEY_VARIABLE} is set.`,
    },
    {
      id: "cursor",
      label: "Cursor",
      link: `cursor://anysphere.cursor-deeplink/mcp/install?name=toolgate&config=${cursorConfig}`,
      text: json({ mcpServers: { toolgate: cursor } }),
      hint: `For ~/.cursor/mcp.json. Cursor reads ${KEY_VARIABLE} from its environment.`,
    },
    {
      id: "vscode",
      label: "VS Code",
      link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(vscodeLink))}`,
      text: json({ inputs, servers: { toolgate: vscode } }),
      hint: "For .vscode/mcp.json. VS Code asks for the key once and stores it.",
    },
    {
      id: "codex",
      label: "Codex",
      text: [
        "[mcp_servers.toolgate]",
        `url = ${JSON.stringify(url)}`,
        `bearer_token_env_var = "${KEY_VARIABLE}"`,
      ].join("\n"),
      hint: `For ~/.codex/config.toml. Codex reads ${KEY_VARIABLE} from its environment.`,
    },
    {
      id: "others",
      label: "Others",
      text: mcpSnippet(baseUrl),
      hint: "For clients that expand environment variables; others need the key itself.",
    },
  ];
}

function json(value: object): string {
  return JSON.stringify(value, undefined, 2);
}
