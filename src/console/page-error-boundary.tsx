import { Component, type ReactNode } from "react";
import { forgetFailures } from "./lazy-component.ts";
import { Button, Note, Page } from "./ui/index.ts";

interface Props {
  /** The current location: navigation retries the render. */
  location: string;
  children: ReactNode;
}

interface State {
  location: string;
  failed: boolean;
}

/** Shows an error in place of a page that failed; navigation and a network recovery render it again. */
export class PageErrorBoundary extends Component<Props, State> {
  override state: State = { location: this.props.location, failed: false };

  static getDerivedStateFromError(): Partial<State> {
    return { failed: true };
  }

  static getDerivedStateFromProps({ location }: Props, state: State): State | null {
    return location === state.location ? null : { location, failed: false };
  }

  override componentDidMount(): void {
    addEventListener("online", this.#retry);
  }

  // Only after the error is shown: a page that is rendered would load again at once, and forever.
  override componentDidCatch(): void {
    forgetFailures();
  }

  override componentWillUnmount(): void {
    removeEventListener("online", this.#retry);
  }

  readonly #retry = () => this.setState({ failed: false });

  override render(): ReactNode {
    return this.state.failed ? <Failed /> : this.props.children;
  }
}

function Failed() {
  return (
    <Page title="This page could not be loaded">
      <Note
        tone="bad"
        title="The gateway is unreachable or was updated"
        action={
          <Button small onClick={() => globalThis.location.reload()}>
            Reload page
          </Button>
        }
      >
        Saved data is safe.
      </Note>
    </Page>
  );
}
