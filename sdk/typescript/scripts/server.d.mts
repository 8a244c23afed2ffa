export interface RunningServer {
  readonly baseUrl: string;
  readonly socketPath: string;
  stop(): Promise<number | null>;
  restart(signal: NodeJS.Signals): Promise<void>;
  end(signal: NodeJS.Signals): Promise<number | null>;
  start(): Promise<void>;
  output(): string;
}
export function startServer(options?: Record<string, string>): Promise<RunningServer>;
