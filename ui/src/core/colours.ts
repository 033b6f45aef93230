// The graph colours for the reader's settings.
import { PALETTES } from './palette';
import { dark, diffColours } from './settings';

export const coloursNow = () => PALETTES[diffColours.value][dark.value ? 'dark' : 'light'];
