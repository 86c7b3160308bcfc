import { Link } from "wouter";
import { useOptionalSignedIn } from "../../session.tsx";
import { Icon } from "../../ui/index.ts";
import type { ParamTexts } from "./schema.ts";
import { writeToTab } from "./tab-storage.ts";

/** Opens the playground with the same parameters; strangers sign in first. */
export function PlaygroundLink({ tool, texts }: { tool: string; texts: ParamTexts }) {
  const sessionId = useOptionalSignedIn()?.session.sessionId;
  return (
    <Link
      className="button button-primary"
      href={`/playground?tool=${encodeURIComponent(tool)}`}
      onClick={() => {
        if (sessionId !== undefined) writeToTab(`form-${tool}`, sessionId, texts);
      }}
    >
      <Icon name="play" />
      {sessionId === undefined ? "Sign in to try it" : "Open in playground"}
    </Link>
  );
}
