export default () => <h1>overview</h1>
