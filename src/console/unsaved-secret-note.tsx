import { ButtonLink, Note } from "./ui/index.ts";
import { useUnsavedSecret } from "./unsaved-secret.ts";

/** A warning on every page but Keys, which shows the secret: a new secret is not saved yet. */
export function UnsavedSecretNote({ location }: { location: string }) {
  const secret = useUnsavedSecret();
  if (!secret || location === "/keys") return null;
  return (
    <div className="page-note">
      <Note
        tone="warn"
        title={`The key “${secret.name}” is not saved yet`}
        action={
          <ButtonLink small href="/keys">
            Show the key
          </ButtonLink>
        }
      >
        It is shown only once. It is lost when this tab closes or reloads.
      </Note>
    </div>
  );
}
