import { render } from 'preact';
import { App } from './app';
import { restore } from './session';

restore();
render(<App />, document.getElementById('app') as HTMLElement);
